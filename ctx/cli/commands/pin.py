"""`git ctx pin`: keep the snapshot of a revision even if its branches are deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.cli.commands.progress import reporter_for

if TYPE_CHECKING:
    from ctx.maintenance.pins import Pin


@click.command(short_help="Keep the snapshot of a revision; without one list what is kept.")
@click.argument("revision", required=False)
@click.option(
    "--remove", is_flag=True, help="Keep it no longer: a revision, a tree, or the name it has here."
)
@options.json_output
@options.root
def command(revision: str | None, remove: bool, json_output: bool) -> int:
    """Keep the snapshot of REVISION, even if the branches that lead to it are deleted.

    It is indexed first if necessary. Without a revision all pins are listed.
    """
    if remove and revision is None:
        raise click.UsageError("--remove needs a revision; `git ctx pin` lists them.")
    import ctx
    from ctx.maintenance import pins

    reporter = reporter_for(silent=json_output)
    with reporter, ctx.open(".", on_progress=reporter.progress) as index:
        if revision is None:
            found, done = pins.pins(index.store), "pinned"
        elif remove:
            found, done = [pins.unpin(index, revision)], "unpinned"
        else:
            # Pin before indexing, so that no concurrent gc removes the snapshot.
            found, done = [pins.pin(index, revision)], "pinned"
            index.index(revision, trigger="pin")
    if json_output:
        print_json({"type": "pin_result", done: [fields(pin) for pin in found]})
        return 0
    if not found:
        click.echo("nothing is pinned; `git ctx pin <revision>` keeps the snapshot of a revision", err=True)
    for pin in found:
        click.echo(text(pin) if revision is None else f"{done} {text(pin)}")
    return 0


def fields(pin: Pin) -> dict[str, object]:
    """Return a pin as JSON fields; the time is in seconds since 1970, 0 if unknown."""
    tree = pin.tree.hex()
    return {"tree": tree, "revision": tree, "revisionName": pin.revision, "time": pin.time}


def text(pin: Pin) -> str:
    """Return a pin as text."""
    from ctx.text.escaping import escape_control
    from ctx.text.wording import when

    said = f"tree {pin.tree.hex()[:12]}  {pin.revision}" + (f"  {when(pin.time)}" if pin.time else "")
    return escape_control(said)
