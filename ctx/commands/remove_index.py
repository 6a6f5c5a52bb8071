"""`git ctx remove-index`: remove everything that git-ctx keeps of one repository."""

from __future__ import annotations

import sys

import click

from ctx.commands import options
from ctx.commands.json_output import print_json

NOT_REMOVED = 1
"""The exit status when the user answers no."""


@click.command(short_help="Remove all snapshots and derived data of this repository.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")
@options.json_output
@options.root
def command(yes: bool, json_output: bool) -> int:
    """Remove all snapshots and derived data of this repository, for all its work trees.

    Nothing else is touched; the next search indexes anew. On a terminal it asks first.
    """
    import ctx

    with ctx.open(".") as index:
        if not (yes or json_output) and sys.stdin.isatty() and sys.stderr.isatty():
            place = click.format_filename(index.store.path)
            if not click.confirm(f"Remove the index in {place}?", err=True):
                click.echo("nothing was removed", err=True)
                return NOT_REMOVED
        removal = index.remove()
    if json_output:
        print_json(
            {
                "type": "remove_index_result",
                "repositoryId": removal.repository_id,
                "removedSnapshots": removal.removed_snapshots,
                "snapshotsRemain": removal.snapshots_remain,
            }
        )
    else:
        click.echo(f"removed {removal.removed_snapshots:,} snapshots and everything that belongs to them")
    return 0
