"""`git ctx gc`: remove data that no branch, tag, work tree or pin needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of
from ctx.text.pluralize import pluralize
from ctx.text.wording import format_size

if TYPE_CHECKING:
    from ctx.maintenance.gc import Report

REMOVED = {
    "tree": "snapshot",
    "node": "node",
    "cluster": "cluster",
    "view": "view",
    "overlay": "overlay",
    "segment": "segment",
    "pack": "file of a pack",
    "temporary": "temporary file",
}
"""Kinds of files that a collection removes, and their names in text output."""


@click.command
@click.option(
    "--grace", metavar="TIME", help="Keep what was in use since TIME: days, or a date; 14 by default."
)
@click.option("--drop-descriptor", metavar="NAME", help="Also remove all data of this other model.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("--auto", is_flag=True, help="Do nothing unless a collection is due; for hooks and timers.")
@options.silent
@options.result
def command(
    grace: str | None, drop_descriptor: str | None, dry_run: bool, auto: bool, silent: bool
) -> Result:
    """Remove data that no branch, tag, work tree or pin needs.

    Kept is what a branch, a tag, a stash or the HEAD of a work tree leads to, now or within the grace period,
    and what is pinned. Removed data is made again when it is needed.
    """
    if auto and (dry_run or grace is not None or drop_descriptor is not None):
        raise click.UsageError("--auto excludes --grace, --drop-descriptor and --dry-run.")
    import ctx
    from ctx.maintenance import due, gc

    with ctx.open(".") as index:
        if auto:
            report = gc.collect_unless_busy(index.session) if due.is_due(index.session) else None
        else:
            report = gc.collect(index.session, grace, dry_run=dry_run, drop=drop_descriptor)
    if report is None:
        return Result({"type": "gc_result", "skipped": "NOT_DUE"}, [])
    return Result({"type": "gc_result", **fields(report)}, [] if silent else lines(report))


def with_total(sizes: dict[str, int]) -> dict[str, int]:
    """Return sizes by area and their sum."""
    return {**sizes, "total": sum(sizes.values())}


def fields(report: Report) -> dict[str, object]:
    """Return the report as JSON fields; sizes in bytes."""
    return fields_of(report, others="otherDescriptors", spared="damagedDescriptors") | {
        "before": with_total(report.before),
        "after": with_total(report.after),
        "removed": {kind: report.removed.get(kind, 0) for kind in REMOVED},
    }


def lines(report: Report) -> list[str]:
    """Return the removed files, the sizes before and after, and what is left."""
    gone = [
        pluralize(report.removed[kind], name) for kind, name in REMOVED.items() if report.removed.get(kind)
    ]
    before, after = with_total(report.before), with_total(report.after)
    pinned = f", {report.pinned:,} pinned" if report.pinned else ""
    kept = (pluralize(report.kept_snapshots, "snapshot"), pluralize(report.kept_clusters, "cluster"))
    return [
        f"{'would remove' if report.dry_run else 'removed'} {', '.join(gone) or 'nothing'}",
        *(
            f"  {area:<10} {format_size(was):>9} -> {format_size(after[area])}"
            for area, was in before.items()
            if was
        ),
        f"kept {' with '.join(kept)}{pinned}",
        *(
            f"{format_size(count)} are of {name}: `git ctx gc --drop-descriptor {name}` removes them"
            for name, count in sorted(report.others.items())
        ),
        *(f"a part of {name} is damaged, so its clusters stay: run `git ctx fsck`" for name in report.spared),
    ]
