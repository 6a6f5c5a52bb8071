"""Clients of the MCP server for tests: the SDK's client, or lines written to the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.memory import create_client_server_memory_streams

from ctx.agents.mcp.project import Project
from ctx.agents.mcp.server import make_server

ROOT = Path(__file__).resolve().parents[3]
FILES: dict[str | bytes, str | bytes | None] = {
    "src/session.py": '"""Sessions."""\n\n\ndef renew_session(token):\n    """Push the expiry of a session '
    'into the future."""\n    return store(token)\n\n\ndef forget(token):\n    """Drop a session."""\n'
    "    drop(token)\n",
    "src/retry.go": "package retry\n\n// Backoff waits twice as long after each failure.\n"
    "func Backoff(n int) int {\n\treturn 2 * n\n}\n",
    "secret.txt": "nothing\n",
}

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}

Talk = Callable[[ClientSession], Awaitable[Any]]


def talk(path: Path, conversation: Talk) -> Any:
    """Start the server in a directory, initialize a session, and run a conversation."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ctx", "mcp"],
        cwd=path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    async def run() -> Any:
        with anyio.fail_after(120):
            async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                return await conversation(session)

    return anyio.run(run)


def talk_here(path: Path, conversation: Talk) -> Any:
    """Run a conversation with a server in this process, to test the tools but not the process."""

    async def run() -> Any:
        project = Project(str(path))
        server = make_server(project)
        try:
            with anyio.fail_after(120):
                async with (
                    create_client_server_memory_streams() as (ours, theirs),
                    anyio.create_task_group() as group,
                ):
                    group.start_soon(server.run, *theirs, server.create_initialization_options())
                    async with ClientSession(*ours) as session:
                        await session.initialize()
                        found = await conversation(session)
                    group.cancel_scope.cancel()
            return found
        finally:
            project.close()

    return anyio.run(run)


def text(result: Any) -> str:
    """Return the text of a reply."""
    (block,) = result.content
    said: str = block.text
    return said


def start(path: Path, *options: str) -> subprocess.Popen[bytes]:
    """Start the server as a process."""
    return subprocess.Popen(
        [sys.executable, "-m", "ctx", "mcp", *options],
        cwd=path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def call(
    path: Path,
    *calls: tuple[str, dict[str, Any]] | Callable[[], None],
    talk: Callable[[Path, Talk], Any] = talk,
) -> list[Any]:
    """Return the results of tool calls of one conversation; functions among them are called."""

    async def conversation(session: ClientSession) -> list[Any]:
        results = []
        for one in calls:
            if callable(one):
                one()
            else:
                results.append(await session.call_tool(*one))
        return results

    found: list[Any] = talk(path, conversation)
    return found


def call_here(path: Path, *calls: tuple[str, dict[str, Any]] | Callable[[], None]) -> list[Any]:
    """Return the results of tool calls of a server in this process."""
    return call(path, *calls, talk=talk_here)


def lines(*messages: dict[str, Any] | bytes) -> bytes:
    """Encode messages for stdin; bytes are passed unchanged."""
    return b"".join(
        (one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0", **one}).encode()) + b"\n"
        for one in messages
    )
