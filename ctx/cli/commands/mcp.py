"""`git ctx mcp`: run the server for coding agents."""

from __future__ import annotations

import os

import click

from ctx.cli.commands import options
from ctx.errors import ExtraMissing


@click.command
@click.option("--http", "over_http", is_flag=True, help="Serve over HTTP on 127.0.0.1 instead, with a token.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="With --http: listen on port N; a free one by default.",
)
@click.option("--minimal", is_flag=True, help="Offer code_search alone.")
@options.root
def command(over_http: bool, port: int | None, minimal: bool) -> int:
    """Serve this project to a coding agent over MCP.

    The server runs until the agent disconnects. Outside a repository it starts too, and each call explains
    how to name one.

    It speaks the Model Context Protocol on stdin and stdout. The tools are code_search, find_related,
    read_lines, history_search, explain, pack, list_packs and read_pack; only the index and the
    packs stored beside it are changed.

    With --http it prints its address, and on stderr the file with its token. GIT_CTX_MCP_TOKEN sets the
    token.
    """
    if port is not None and not over_http:
        raise click.UsageError("--port goes with --http.")
    try:
        if over_http:
            from ctx.agents.mcp.http import serve_http
        else:
            from ctx.agents.mcp.server import serve
    except ImportError:
        raise ExtraMissing("the server for agents", "mcp") from None
    start = os.getcwd()
    if over_http:
        serve_http(start, port or 0, minimal=minimal)
    else:
        serve(start, minimal=minimal)
    return 0
