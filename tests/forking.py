"""The program run to its end in a child of a process that has imported it already.

To start Python and to import what a command needs takes several times what most commands of the tests do with
it. So one process of each test run imports all of it, does nothing else, and has a child for each call, with
the directory, variables and streams that the call is for. Such a child has done nothing before `main`, and it
ends as any process does. Tests of the start itself, of signals, of pipes and of what hooks run start
`python -m ctx`; so does everything with START_ANEW=1 in the environment, and where there is no fork.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[1]
_TIMEOUT = 240
_MODULES = (
    "ctx.cli.main",
    "ctx.index",
    "ctx.search.answering",
    "ctx.search.changes",
    "ctx.search.coverage",
    "ctx.search.evidence.answering",
    "ctx.indexing.indexer",
    "ctx.indexing.running",
    "ctx.maintenance.fsck",
    "ctx.maintenance.gc",
    "ctx.pack.making",
    "ctx.indexing.cost",
    "ctx.models.embedder",
    "ctx.indexing.vectors.indexing",
    "ctx.search.services.searching",
    "ctx.share.fetch",
    "ctx.share.push",
    "ctx.maintenance.status",
    "tree_sitter_language_pack",
)
"""What takes long to import, beside the commands."""
_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "OPENBLAS_")
"""How the variables begin that count when Python starts: with others than before it has to start again."""

_server: tuple[socket.socket, dict[str, str]] | None = None


class _Call(NamedTuple):
    """Arguments of a child process, besides its streams."""

    arguments: list[str]
    cwd: str
    env: dict[str, str]
    umask: int


def run(
    arguments: Sequence[str | bytes],
    *,
    cwd: str | os.PathLike[str],
    env: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float = _TIMEOUT,
) -> subprocess.CompletedProcess[bytes]:
    """Run the program with these variables, and no others. Raises `subprocess.TimeoutExpired`."""
    global _server
    words = [os.fsdecode(word) for word in arguments]
    if _server is None and sys.platform == "linux" and "START_ANEW" not in os.environ:
        _server = _served(env), _at_start(env)
    if _server is None or _server[1] != _at_start(env):
        command = [sys.executable, "-m", "ctx", *words]
        return subprocess.run(command, cwd=cwd, env=env, input=stdin, capture_output=True, timeout=timeout)
    connection = _server[0]
    files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        with open(files[0], "wb", closefd=False) as stream:
            stream.write(stdin)
        os.lseek(files[0], 0, os.SEEK_SET)
        umask = os.umask(0)
        os.umask(umask)
        data = json.dumps(_Call(words, os.fspath(cwd), dict(env), umask)).encode()
        socket.send_fds(connection, [len(data).to_bytes(4, "little")], files)
        connection.sendall(data)
        child = int.from_bytes(_read(connection, 4), "little")
        connection.settimeout(timeout)
        try:
            status = int.from_bytes(_read(connection, 4), "little", signed=True)
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            connection.settimeout(None)
            _read(connection, 4)
            raise subprocess.TimeoutExpired(words, timeout) from None
        finally:
            connection.settimeout(None)
        out, err = (_content(file) for file in files[1:])
    finally:
        for file in files:
            os.close(file)
    return subprocess.CompletedProcess(["git-ctx", *words], status, out, err)


def run_for_text(
    arguments: Sequence[str], *, cwd: str | os.PathLike[str], env: Mapping[str, str], stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """The same with texts."""
    done = run(arguments, cwd=cwd, env=env, stdin=stdin.encode())
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def _at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(_AT_START)}


def _served(env: Mapping[str, str]) -> socket.socket:
    """A connection to a process that has imported the program; it ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env={**env, "OPENBLAS_NUM_THREADS": "1"},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _content(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    with open(file, "rb", closefd=False) as stream:
        return stream.read()


def _serve(connection: socket.socket) -> None:
    """Have a child for each call, until nobody calls any more. Returns in the children."""
    for name in _MODULES:
        import_module(name)
    from ctx.cli.main import COMMANDS
    from ctx.errors import CtxError
    from ctx.models.static_embedding import static_embedding
    from ctx.text.tokens import counter

    for name in COMMANDS:
        import_module(f"ctx.cli.commands.{name.replace('-', '_')}")
    static_embedding()
    with suppress(CtxError):  # it comes with an extra
        counter()
    gc.collect()
    gc.freeze()  # or each child would copy what it looks through for garbage
    while True:
        head, files, _, _ = socket.recv_fds(connection, 4, 3)
        if not head:
            sys.exit(0)
        size = int.from_bytes(head + _read(connection, 4 - len(head)), "little")
        call = _Call(*json.loads(_read(connection, size)))
        child = os.fork()
        if not child:
            connection.close()
            _become(call, files)
            return
        for file in files:
            os.close(file)
        connection.sendall(child.to_bytes(4, "little"))
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "little", signed=True))


def _become(call: _Call, files: Sequence[int]) -> None:
    """Give this process what it would have been started with."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(call.env)
    os.umask(call.umask)
    os.chdir(call.cwd)
    time.tzset()
    random.seed()
    sys.path[0] = call.cwd
    sys.argv = [str(ROOT / "ctx/__main__.py"), *call.arguments]


def _main() -> NoReturn:
    try:
        _serve(socket.socket(fileno=int(sys.argv[1])))
    except KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)
    status: object = 1
    try:
        runpy.run_module("ctx", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    # What Python does at its end, but for taking apart all that was imported.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    _main()
