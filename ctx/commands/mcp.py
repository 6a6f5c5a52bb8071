"""`git ctx mcp`: the server for coding agents."""

from __future__ import annotations

import os

import click

from ctx.commands import options
from ctx.errors import CtxError


@click.command(short_help="Serve this project to a coding agent over MCP, on stdin and stdout.")
@options.root
def command() -> int:
    """Serve the project around the current directory (or -C PATH) to a coding agent, until it goes away.

    Speaks the Model Context Protocol on stdin and stdout. The tools are code_search, find_related,
    read_lines and history_search; none of them changes anything but the index.
    """
    try:
        from ctx.mcp.server import serve
    except ImportError as error:
        raise CtxError(
            f"the server for agents needs more packages ({error.name}): `pip install 'git-ctx[mcp]'`"
        ) from None
    from ctx.git.repository import open_repository

    repository = open_repository(".")
    root = repository.work_tree or repository.git_dir
    repository.close()
    serve(os.path.abspath(root))
    return 0
