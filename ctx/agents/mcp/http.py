"""The MCP server over streamable HTTP, bound to the loopback interface only.

Each request needs the token and has to name this address as its host. The SDK's check of Host and Origin
rejects web pages that reach the loopback interface by DNS rebinding. The token is never a process argument
and never printed, because other users can read those; a file of this user holds it.
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import NoReturn

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ctx.agents.mcp.project import Project
from ctx.agents.mcp.server import make_server
from ctx.errors import CtxError, UsageError
from ctx.models.ledger import state_directory
from ctx.text.escaping import escape_control

VARIABLE = "GIT_CTX_MCP_TOKEN"
"""Environment variable with a token chosen by the user."""
_FEWEST = 16
"""Minimum length of a chosen token in characters."""
ADDRESS = "127.0.0.1"
PATH = "/mcp"


def serve_http(root: str, port: int, *, minimal: bool = False) -> None:
    """Serve one project until a signal ends the process; port 0 means any free port. Raises CtxError."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Exit by an exception, so that the file with the token is removed.
        signal.signal(number, _end)
    chosen = _chosen_token()
    token = chosen or secrets.token_urlsafe(32)
    with ExitStack() as stack:
        listening = stack.enter_context(_listen(port))
        url = f"http://{ADDRESS}:{listening.getsockname()[1]}{PATH}"
        place = f"that of {VARIABLE}" if chosen else f"in {stack.enter_context(token_file(url, token))}"
        project = Project(root)
        stack.callback(project.close)
        print(url, flush=True)
        print(
            escape_control(f"git-ctx: serving {project.root or root}; the token is {place}"),
            file=sys.stderr,
            flush=True,
        )
        anyio.run(_serve, project, listening, token, minimal)


async def _serve(project: Project, listening: socket.socket, token: str, minimal: bool) -> None:
    port = listening.getsockname()[1]
    hosts = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    app = make_server(project, minimal=minimal).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    config = uvicorn.Config(
        TokenGate(app, token),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    await uvicorn.Server(config).serve(sockets=[listening])


class TokenGate:
    """ASGI wrapper that passes on only requests with the bearer token (RFC 6750)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if len(given) != 1 or not self._is_wanted(given[0]):
                headers = {"WWW-Authenticate": 'Bearer realm="git-ctx"'}
                refusal = JSONResponse(
                    {"error": "this server needs its token: Authorization: Bearer <token>"}, 401, headers
                )
                await refusal(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self._app(scope, receive, send)

    def _is_wanted(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        # Scheme names are case-insensitive (RFC 9110, section 11.1).
        return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), self._token)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        # Listen before the address is printed: a reader may connect at once.
        listening.listen()
    except OSError as error:
        listening.close()
        raise CtxError(
            f"cannot listen on port {port} ({error.strerror}): leave --port out for a free one"
        ) from None
    return listening


def _end(number: int, frame: object) -> NoReturn:
    sys.exit(0)


def _chosen_token() -> str | None:
    """Return the token from the environment, removed there so children do not get it. Raises UsageError."""
    token = os.environ.pop(VARIABLE, None)
    if token is None:
        return None
    if len(token) < _FEWEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{VARIABLE} has to be at least {_FEWEST} printable ASCII characters without spaces: "
            f"`export {VARIABLE}=$(openssl rand -hex 32)` makes one, without the variable there is a new one "
            "at each start"
        )
    return token


@contextmanager
def token_file(url: str, token: str) -> Iterator[str]:
    """Yield the path of a file with address and token, readable only by this user; remove it at the end."""
    folder = _folder()
    path = os.path.join(folder, f"mcp-{os.getpid()}.json")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _sweep(folder)
        # A leftover of an earlier process with this pid; unlinking a symbolic link keeps its target.
        with suppress(FileNotFoundError):
            os.unlink(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CtxError(
            f"the token cannot be kept in '{folder}' ({error.strerror}): choose one, "
            f"`export {VARIABLE}=$(openssl rand -hex 32)`"
        ) from None
    with open(descriptor, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump({"url": url, "token": token, "pid": os.getpid()}, file)
        file.write("\n")
        file.flush()
        try:
            yield path
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _folder() -> str:
    """Return the directory of this user's runtime files (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isabs(base) and os.path.isdir(base):
        return os.path.join(base, "git-ctx")
    return os.path.join(state_directory(), "run")


def _sweep(folder: str) -> None:
    """Remove the files of servers that were killed, which no process has locked any more."""
    for entry in os.scandir(folder):
        if not entry.name.startswith("mcp-") or not entry.is_file(follow_symlinks=False):
            continue
        with suppress(OSError), open(entry.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(entry.path)
