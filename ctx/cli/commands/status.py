"""`git ctx status`: show indexed trees, files left out with reasons, and the cost of indexing HEAD."""

from __future__ import annotations

import click

from ctx.cli.commands import options


@click.command(short_help="Show what is indexed, and what was left out and why.")
@click.option("--log", is_flag=True, help="Show what the hooks did in the background instead.")
@options.json_output
@options.root
def command(log: bool, json_output: bool) -> int:
    """Show each indexed tree, what was left out of it and why, and what indexing HEAD would cost."""
    import ctx
    from ctx.cli.commands import log_output, status_output

    with ctx.open(".") as index:
        if log:
            log_output.print_log(index.store.path, as_json=json_output)
            return 0
        status = index.status()
    if json_output:
        status_output.print_json_status(status)
    else:
        status_output.print_text(status)
    return 0
