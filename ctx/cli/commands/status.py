"""`git ctx status`: show indexed trees, files left out with reasons, and the cost of indexing HEAD."""

from __future__ import annotations

import click

from ctx.cli.commands import options


@click.command
@click.option("--log", is_flag=True, help="Show the log of background runs instead.")
@options.as_json
@options.root
def command(log: bool, as_json: bool) -> int:
    """Show what is indexed, and what was left out.

    Listed are each indexed tree, the files left out of it and why, and the cost of indexing HEAD.
    """
    import ctx
    from ctx.cli.commands import log_output, status_output

    with ctx.open(".") as index:
        if log:
            log_output.print_log(index.session.store.path, as_json=as_json)
            return 0
        status = index.status()
    if as_json:
        status_output.print_json_status(status)
    else:
        status_output.print_text(status)
    return 0
