"""Measure the MCP server: its start, its answers, its memory.

    python tests/benchmarks/mcp_server.py start [RUNS]
    python tests/benchmarks/mcp_server.py answers REPOSITORY QUESTIONS [CALLS]
    python tests/benchmarks/mcp_server.py memory REPOSITORY QUESTIONS [CALLS]

`start` is the time to the reply to `initialize`, beside a minimal server of the same SDK; `answers` are
milliseconds of `code_search` inside the server; `memory` is that of one server over many calls. QUESTIONS is
a file of `annotations/` of a retrieval benchmark: a list of objects with a `query`. An index remains in
REPOSITORY.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
OURS = [sys.executable, "-m", "ctx", "mcp"]
BARE = [sys.executable, __file__, "bare"]


def bare() -> None:
    """The smallest server of the SDK that has a tool."""
    import anyio
    import mcp_types as types
    from mcp.server.lowlevel.server import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool(name="nothing", input_schema={"type": "object"})])

    async def call_tool(_: Any, __: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    async def serve() -> None:
        server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


class Talk:
    """A server process and its requests."""

    def __init__(self, command: list[str], folder: str) -> None:
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )
        self._number = 0
        self.ask(HELLO)

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The reply to one message."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            reply: dict[str, Any] = json.loads(self.process.stdout.readline())
            if reply.get("id") == message["id"]:
                return reply

    def search(self, text: str) -> dict[str, Any]:
        """Call code_search once."""
        self._number += 1
        params = {"name": "code_search", "arguments": {"text": text}}
        call = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        return self.ask(call)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def environment() -> dict[str, str]:
    """The environment in which `ctx` is importable from any directory."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}


def start(runs: int) -> None:
    """Wall-clock and processor seconds to the reply, minimum and median; the servers alternate."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "-q", folder], check=True)
        wall: dict[str, list[float]] = {"bare": [], "git-ctx": []}
        processor: dict[str, list[float]] = {"bare": [], "git-ctx": []}
        for _ in range(runs + 1):
            for name, command in (("bare", BARE), ("git-ctx", OURS)):
                begun = time.perf_counter()
                talk = Talk(command, folder)
                wall[name].append(time.perf_counter() - begun)
                processor[name].append(seconds_of(talk.process.pid))
                talk.close()
    for kind, found in (("wall", wall), ("processor", processor)):
        # The first run of each fills the disk caches.
        for name, seconds in found.items():
            ordered = sorted(seconds[1:])
            print(f"{kind:9} {name:8} least {ordered[0]:.3f} s  median {ordered[len(ordered) // 2]:.3f} s")
        least, median = [
            sorted(found["git-ctx"][1:])[at] / sorted(found["bare"][1:])[at] for at in (0, runs // 2)
        ]
        print(f"{kind:9} ratio    least {least:.2f}     median {median:.2f}")


def seconds_of(pid: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def answers(repository: str, questions: list[str], calls: int) -> None:
    """Milliseconds of a call inside the server, over a warm index."""
    import ctx
    from ctx.agents.mcp.project import Project
    from ctx.agents.mcp.tools import CODE_SEARCH, check_arguments

    project = Project(repository)
    begun = time.perf_counter()
    project.call("code_search", {"text": questions[0]})
    print(f"the first call, which indexes what is missing: {time.perf_counter() - begun:.1f} s")
    wall, processor, size = [], [], 0
    for number in range(calls):
        arguments = check_arguments(CODE_SEARCH, {"text": questions[number % len(questions)]})
        begun, busy = time.perf_counter(), time.process_time()
        reply = project.call("code_search", arguments)
        wall.append(time.perf_counter() - begun)
        processor.append(time.process_time() - busy)
        size += len(reply.text)
    with ctx.open(repository) as index:
        report = index.index()
    chunks = report.embedded_chunks + report.reused_chunks
    print(f"{chunks:,} chunks, {calls} calls, {size / calls:,.0f} characters an answer")
    for kind, found in (("wall", wall), ("processor", processor)):
        found.sort()
        print(
            f"{kind:9} p50 {found[calls // 2] * 1e3:.1f} ms  p95 {found[calls * 95 // 100] * 1e3:.1f} ms  "
            f"least {found[0] * 1e3:.1f} ms"
        )
    project.close()


def memory(repository: str, questions: list[str], calls: int) -> None:
    """Resident memory of one server at ten points during the calls."""
    talk = Talk(OURS, repository)
    for number in range(calls + 1):
        if number % max(1, calls // 10) == 0:
            print(f"{number:6} calls  {resident(talk.process.pid) / 2**20:.1f} MiB", flush=True)
        talk.search(f"{questions[number % len(questions)]} {number % 997}")
    talk.close()


def resident(pid: int) -> int:
    """Resident memory of a process in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(arguments: list[str]) -> int:
    kind, *rest = arguments
    if kind == "bare":
        bare()
    elif kind == "start":
        start(int(rest[0]) if rest else 10)
    else:
        repository, file, *more = rest
        questions = [item["query"] for item in json.loads(Path(file).read_text())]
        if kind == "answers":
            answers(repository, questions, int(more[0]) if more else 200)
        else:
            memory(repository, questions, int(more[0]) if more else 10_000)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
