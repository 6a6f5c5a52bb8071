"""The protocol: the SDK's server over stdin and stdout, with the tools of one project behind it.

Calls run in one thread beside the protocol, one after the other, so that the server answers while it works.
Nothing but protocol goes to stdout.
"""

from __future__ import annotations

import sys
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from ctx._version import __version__
from ctx.errors import CtxError, UsageError
from ctx.mcp.arguments import checked
from ctx.mcp.project import Project
from ctx.mcp.replies import Reply
from ctx.mcp.tools import INSTRUCTIONS, TOOLS


def serve(root: str) -> None:
    """Serve one project until the client goes away."""
    anyio.run(_serve, root)


async def _serve(root: str) -> None:
    project = Project(root)
    server = make_server(project)
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        project.close()


def make_server(project: Project) -> Server[Any]:
    """A server of the SDK with the tools of a project."""
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
                        read_only_hint=True,
                        destructive_hint=False,
                        idempotent_hint=True,
                        open_world_hint=False,
                    ),
                )
                for tool in TOOLS.values()
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        try:
            if tool is None:
                raise UsageError(f"there is no tool {params.name!r}; there are {', '.join(TOOLS)}")
            arguments = checked(tool, params.arguments)
            async with turn:
                reply = await anyio.to_thread.run_sync(_run, project, tool.name, arguments, context)
        except CtxError as error:
            return _failure(str(error))
        except Exception as error:
            # The outermost door of a call: one that fails must not end the server.
            print(f"git-ctx: {type(error).__name__}: {error}", file=sys.stderr)
            return _failure(
                f"unexpected {type(error).__name__}: this is a fault of git-ctx; try another question"
            )
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.text)], structured_content=reply.values
        )

    return Server(
        "git-ctx",
        version=__version__,
        title="git-ctx",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _run(project: Project, name: str, arguments: dict[str, Any], context: Any) -> Reply:
    def report(done: int, total: int, what: str) -> None:
        # A client that has gone, or that has cancelled, waits for nothing.
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run(
            context.session.report_progress,
            float(done),
            float(total),
            f"indexing: {done:,} of {total:,} {what}",
        )

    return project.call(name, arguments, report)


def _failure(message: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=message)], is_error=True)
