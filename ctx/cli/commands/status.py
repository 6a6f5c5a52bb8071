"""`git ctx status`: show indexed trees, files left out with reasons, and the cost of indexing HEAD."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result


@click.command
@click.option("--log", is_flag=True, help="Show the log of background runs instead.")
@options.result
def command(log: bool) -> Result:
    """Show what is indexed, and what was left out.

    Listed are each indexed tree, the files left out of it and why, and the cost of indexing HEAD.
    """
    import ctx
    from ctx.cli.commands import log_output, status_output

    with ctx.open(".") as index:
        if log:
            return log_output.result(index.session.store.path)
        status = index.status()
    return Result(status_output.fields(status), status_output.lines(status))
