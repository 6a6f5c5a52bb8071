"""The MCP server over streamable HTTP, bound to the loopback interface only.

Each request needs the token and has to name this address as its host. The SDK's check of Host and Origin
rejects web pages that reach the loopback interface by DNS rebinding.
"""

from __future__ import annotations

import hmac
import signal
import socket
import sys
from contextlib import ExitStack
from typing import NoReturn

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ctx.agents.mcp.access import VARIABLE, chosen_token, new_token, written
from ctx.agents.mcp.project import Project
from ctx.agents.mcp.server import make_server
from ctx.errors import CtxError
from ctx.text.escaping import escape_control

ADDRESS = "127.0.0.1"
PATH = "/mcp"


def serve_http(root: str, port: int, *, minimal: bool = False) -> None:
    """Serve one project until a signal ends the process; port 0 means any free port. Raises CtxError."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Exit by an exception, so that the file with the token is removed.
        signal.signal(number, _end)
    chosen = chosen_token()
    token = chosen or new_token()
    with ExitStack() as stack:
        listening = stack.enter_context(_listen(port))
        url = f"http://{ADDRESS}:{listening.getsockname()[1]}{PATH}"
        place = f"that of {VARIABLE}" if chosen else f"in {stack.enter_context(written(url, token))}"
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
