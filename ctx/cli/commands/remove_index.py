"""`git ctx remove-index`: remove all data that git-ctx stores for one repository."""

from __future__ import annotations

import sys

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

NOT_REMOVED = 1
"""Exit status if the user answers no."""


@click.command(short_help="Remove all snapshots and derived data of this repository.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")
@click.option("--remote", metavar="REMOTE", help="Remove what is published on REMOTE, and nothing here.")
@options.json_output
@options.root
def command(yes: bool, remote: str | None, json_output: bool) -> int:
    """Remove all snapshots and derived data of this repository, for all its work trees.

    Nothing else is touched; the next search indexes again. On a terminal it asks first.
    """
    import ctx

    if remote is not None:
        return remove_published(remote, yes=yes, json_output=json_output)

    with ctx.open(".") as index:
        if not (yes or json_output) and sys.stdin.isatty() and sys.stderr.isatty():
            place = escape_control(index.store.path)
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
        of = "it" if removal.removed_snapshots == 1 else "them"
        gone = pluralize(removal.removed_snapshots, "snapshot")
        click.echo(f"removed {gone} and everything that belongs to {of}")
    return 0


def remove_published(remote: str, *, yes: bool, json_output: bool) -> int:
    """Remove the ref with the published index from a remote."""
    import ctx
    from ctx.share.layout import REF
    from ctx.share.remote import find_remote
    from ctx.share.transport import ShareRepository

    with ctx.open(".") as index:
        share = ShareRepository(index.repository, index.store, find_remote(index.repository, remote))
        asks = not (yes or json_output) and sys.stdin.isatty() and sys.stderr.isatty()
        if asks and not click.confirm(f"Remove {REF} from {remote}, for everybody who uses it?", err=True):
            click.echo("nothing was removed", err=True)
            return NOT_REMOVED
        with share.locked():
            removed = share.delete()
    if json_output:
        print_json({"type": "remove_index_result", "remote": remote, "removed": removed})
    else:
        click.echo(f"removed {REF} from {remote}" if removed else f"{remote} has no published index")
    return 0
