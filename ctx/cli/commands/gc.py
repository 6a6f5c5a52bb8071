"""`git ctx gc`: remove data that no branch, tag, work tree or pin needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

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


@click.command(short_help="Remove what no branch, tag, work tree or pin needs.")
@click.option(
    "--grace", metavar="TIME", help="Keep what was in use since TIME: days, or a date; 14 by default."
)
@click.option("--drop-descriptor", metavar="NAME", help="Also remove all that was made with another model.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--auto", is_flag=True, help="Do nothing unless it is worth it; for programs that run often.")
@click.option("--silent", is_flag=True, help="Print nothing but errors.")
@options.json_output
@options.root
def command(
    grace: str | None,
    drop_descriptor: str | None,
    dry_run: bool,
    auto: bool,
    silent: bool,
    json_output: bool,
) -> int:
    """Remove the snapshots of trees that git no longer reaches, and all that only they need.

    What a branch, a tag, a stash or the HEAD of a work tree leads to is kept, also what it was within the
    grace period, and what is pinned. Removed data is made again when it is needed.
    """
    if auto and (dry_run or grace is not None or drop_descriptor is not None):
        raise click.UsageError("--auto goes alone; leave out --grace, --drop-descriptor and --dry-run.")
    import ctx
    from ctx.maintenance import due, gc

    with ctx.open(".") as index:
        report = (
            due.collect_if_due(index)
            if auto
            else gc.collect(index, grace, dry_run=dry_run, drop=drop_descriptor)
        )
    if json_output:
        print_json({"type": "gc_result", **(fields(report) if report else {"skipped": "NOT_DUE"})})
    elif report is not None and not silent:
        click.echo(text(report))
    return 0


def fields(report: Report) -> dict[str, object]:
    """Return the report as JSON fields; sizes in bytes."""
    return {
        "dryRun": report.dry_run,
        "before": report.before | {"total": sum(report.before.values())},
        "after": report.after | {"total": sum(report.after.values())},
        "removed": {kind: report.removed.get(kind, 0) for kind in REMOVED},
        "keptSnapshots": report.kept_snapshots,
        "keptClusters": report.kept_clusters,
        "pinned": report.pinned,
        "otherDescriptors": report.others,
        "damagedDescriptors": report.spared,
    }


def text(report: Report) -> str:
    """Return the report as text: removed files, sizes before and after, and what is left."""
    from ctx.text.wording import size

    gone = [
        pluralize(report.removed[kind], name) for kind, name in REMOVED.items() if report.removed.get(kind)
    ]
    lines = [f"{'would remove' if report.dry_run else 'removed'} {', '.join(gone) or 'nothing'}"]
    sizes = {**report.before, "total": sum(report.before.values())}
    after = {**report.after, "total": sum(report.after.values())}
    lines += [f"  {area:<10} {size(sizes[area]):>9} -> {size(after[area])}" for area in sizes if sizes[area]]
    pinned = f", {report.pinned:,} pinned" if report.pinned else ""
    kept = (pluralize(report.kept_snapshots, "snapshot"), pluralize(report.kept_clusters, "cluster"))
    lines.append(f"kept {' with '.join(kept)}{pinned}")
    for name, count in sorted(report.others.items()):
        lines.append(f"{size(count)} are of {name}: `git ctx gc --drop-descriptor {name}` removes them")
    for name in report.spared:
        lines.append(f"something of {name} is damaged, so its clusters stay: run `git ctx fsck`")
    return "\n".join(map(escape_control, lines))
