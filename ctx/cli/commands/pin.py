"""`git ctx pin`: keep the snapshot of a revision even if its branches are deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of
from ctx.cli.commands.progress import reporter_for
from ctx.text.wording import format_time

if TYPE_CHECKING:
    from ctx.maintenance.pins import Pin


@click.command
@options.revision_argument
@click.option("--remove", is_flag=True, help="Remove a pin: of a revision, a tree, or a pinned name.")
@options.result
def command(revision: str | None, remove: bool) -> Result:
    """Keep the snapshot of a revision, or list what is pinned.

    The snapshot of REVISION is kept even if the branches that lead to it are deleted. It is indexed first if
    necessary. Without a revision all pins are listed.
    """
    if remove and revision is None:
        raise click.UsageError("--remove needs a revision; `git ctx pin` lists them.")
    import ctx
    from ctx.maintenance import pins

    reporter = reporter_for()
    with reporter, ctx.open(".", on_progress=reporter.progress) as index:
        if revision is None:
            found, done = pins.pins(index.session.store), "pinned"
        elif remove:
            found, done = [pins.unpin(index.session, revision)], "unpinned"
        else:
            # Pin before indexing, so that no concurrent gc removes the snapshot.
            found, done = [pins.pin(index.session, revision)], "pinned"
            index.index(revision, trigger="pin")
    return Result({"type": "pin_result", done: [fields(pin) for pin in found]}, _lines(found, revision, done))


def _lines(pins: list[Pin], revision: str | None, done: str) -> Iterator[str]:
    if not pins:
        click.echo("nothing is pinned; `git ctx pin <revision>` keeps the snapshot of a revision", err=True)
    prefix = "" if revision is None else f"{done} "
    for pin in pins:
        time = f"  {format_time(pin.time)}" if pin.time else ""
        yield f"{prefix}tree {pin.tree.hex()[:12]}  {pin.revision}{time}"


def fields(pin: Pin) -> dict[str, object]:
    """Return a pin as JSON fields; the time is in seconds since 1970, 0 if unknown."""
    return fields_of(pin, revision="revisionName") | {"revision": pin.tree.hex()}
