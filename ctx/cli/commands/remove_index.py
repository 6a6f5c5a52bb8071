"""`git ctx remove-index`: remove all data that git-ctx stores for one repository."""

from __future__ import annotations

import sys

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import fields_of, print_json, print_lines
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

NOT_REMOVED = 1
"""Exit status if the user answers no."""


@click.command
@click.option("-y", "--yes", is_flag=True, help="Do not ask on a terminal.")
@click.option("--remote", metavar="REMOTE", help="Remove the index published on REMOTE, and nothing here.")
@options.as_json
@options.root
def command(yes: bool, remote: str | None, as_json: bool) -> int:
    """Remove all index data of this repository.

    It is removed for all work trees. Nothing else is touched; the next search indexes again. On a terminal it
    asks first.
    """
    import ctx

    asks = not (yes or as_json) and sys.stdin.isatty() and sys.stderr.isatty()
    with ctx.open(".") as index:
        if remote is not None:
            from ctx.share.layout import REF
            from ctx.share.transport import ShareRepository

            share = ShareRepository(index.repository, index.session.store, remote)
            remote = share.remote.shown
            if asks and not agreed(f"Remove {REF} from {remote}, for everybody who uses it?"):
                return NOT_REMOVED
            with share.locked():
                removed = share.delete()
            fields: dict[str, object] = {"remote": remote, "removed": removed}
            text = f"removed {REF} from {remote}" if removed else f"{remote} has no published index"
        else:
            if asks and not agreed(f"Remove the index in {index.session.store.path}?"):
                return NOT_REMOVED
            removal = index.remove()
            fields = fields_of(removal)
            text = f"removed {pluralize(removal.removed_snapshots, 'snapshot')} and all other index data"
    if as_json:
        print_json({"type": "remove_index_result", **fields})
    else:
        print_lines([text])
    return 0


def agreed(question: str) -> bool:
    """Ask on the terminal, and print a line if the answer is no."""
    if click.confirm(escape_control(question), err=True):
        return True
    click.echo("nothing was removed", err=True)
    return False
