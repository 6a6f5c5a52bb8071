"""Protocol layer: the SDK's server with the tools of one project, served on stdin and stdout.

Calls run one at a time in a worker thread, so that the server still answers the protocol meanwhile. Only
protocol messages go to stdout.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from ctx._version import __version__
from ctx.agents.mcp import packs
from ctx.agents.mcp.incoming import messages, take_stdin
from ctx.agents.mcp.project import Project
from ctx.agents.mcp.replies import Reply
from ctx.agents.mcp.tools import MINIMAL, PACK, SCHEME, TOOLS, check_arguments, instructions
from ctx.errors import CtxError, UsageError
from ctx.text.escaping import escape_control, escape_control_lines

Found = TypeVar("Found")

_LOOK_FOR_PARENT = 2.0
"""Seconds between two checks that the parent process still runs."""


def serve(root: str, *, minimal: bool = False) -> None:
    """Serve one project over stdin and stdout until the client disconnects."""
    # A thread blocks on stdin and cannot be cancelled; a signal can end the process without losing data.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        anyio.run(_serve, root, minimal)
    except Exception as error:
        if not _says_that_it_is_gone(error):
            raise


async def _serve(root: str, minimal: bool) -> None:
    project = Project(root)
    server = make_server(project, minimal=minimal)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_end_with, os.getppid())
            refusals: list[Any] = []

            async def refuse(error: types.JSONRPCError) -> None:
                await refusals[0].send(SessionMessage(error))

            # The SDK only iterates over its stdin argument.
            given: Any = messages(take_stdin(), refuse)
            async with stdio_server(stdin=given) as (read, write):
                refusals.append(write)
                await server.run(read, write, server.create_initialization_options())
            group.cancel_scope.cancel()
    finally:
        project.close()


async def _end_with(parent: int) -> None:
    """Exit once the parent process has ended, even if another process holds stdin open."""
    while os.getppid() == parent:
        await anyio.sleep(_LOOK_FOR_PARENT)
    os._exit(0)


def _says_that_it_is_gone(error: BaseException) -> bool:
    """Return True if an error consists only of connection errors of a client that has disconnected."""
    inner = getattr(error, "exceptions", ())
    return isinstance(error, ConnectionError) or (bool(inner) and all(map(_says_that_it_is_gone, inner)))


def make_server(project: Project, *, minimal: bool = False) -> Server[Any]:
    """Return an SDK server with the tools of a project, all of them or those of MINIMAL."""
    tools = MINIMAL if minimal else TOOLS
    turn = anyio.Lock()

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=tool.name,
                    title=tool.title,
                    description=tool.description,
                    input_schema=tool.schema,
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.is_read_only,
                        destructive_hint=False,
                        idempotent_hint=True,
                        open_world_hint=False,
                    ),
                )
                for tool in tools.values()
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        try:
            if tool is None:
                raise UsageError(f"there is no tool {params.name!r}; there are {', '.join(tools)}")
            arguments = check_arguments(tool, params.arguments)
            async with turn:
                reply = await anyio.to_thread.run_sync(_run, project, tool.name, arguments, context)
        except CtxError as error:
            return _failure(str(error))
        except Exception as error:
            # A failing call must not end the server.
            print(escape_control(f"git-ctx: {type(error).__name__}: {error}"), file=sys.stderr)
            return _failure(
                f"unexpected {type(error).__name__}: this is a bug in git-ctx; try another question"
            )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.text)], structured_content=reply.values
        )

    async def list_resources(_: Any, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        async with turn:
            found = await _looked_up(lambda: packs.resources(project.index()))
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=SCHEME + one.slug,
                    name=one.slug,
                    mime_type=packs.MIME[one.format],
                    size=one.prompt_size,
                )
                for one in found
            ]
        )

    async def read_resource(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        async with turn:
            found = await _looked_up(lambda: packs.read_resource(project.index(), params.uri))
        contents = types.TextResourceContents(uri=params.uri, mime_type=found.mime_type, text=found.text)
        return types.ReadResourceResult(contents=[contents])

    async def list_templates(
        _: Any, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=SCHEME + "{slug}",
                    name="pack",
                    description="The text of a pack that the tool pack has made.",
                ),
                types.ResourceTemplate(
                    uri_template=SCHEME + "{slug}" + packs.MANIFEST,
                    name="manifest",
                    description="The whole manifest of a pack: reasons, hashes and lines of each file.",
                    mime_type=packs.MIME["json"],
                ),
            ]
        )

    has_packs = PACK.name in tools
    return Server(
        "git-ctx",
        version=__version__,
        title="git-ctx",
        instructions=instructions(tools),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources if has_packs else None,
        on_list_resource_templates=list_templates if has_packs else None,
        on_read_resource=read_resource if has_packs else None,
    )


def _run(project: Project, name: str, arguments: dict[str, Any], context: Any) -> Reply:
    def report(done: int, total: int, what: str) -> None:
        # Stop when the client has disconnected or cancelled the call.
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run(
            context.session.report_progress,
            float(done),
            float(total),
            f"indexing: {done:,} of {total:,} {what}",
        )

    return project.call(name, arguments, report)


async def _looked_up(call: Callable[[], Found]) -> Found:
    """Return the result of a call; convert CtxError to MCPError, as resources have no error results."""
    try:
        return await anyio.to_thread.run_sync(call)
    except CtxError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None


def _failure(message: str) -> types.CallToolResult:
    text = escape_control_lines(message)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)
