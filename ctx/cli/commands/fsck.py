"""`git ctx fsck`: check all stored files, and remove damaged ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of
from ctx.cli.commands.progress import Counter
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.maintenance.fsck import Report

FOUND = 1
"""Exit status if something was wrong, repaired or not."""


@click.command
@click.option("--full", is_flag=True, help="Also compare each snapshot with its tree in git.")
@click.option("--dry-run", is_flag=True, help="Remove nothing.")
@options.result
def command(full: bool, dry_run: bool) -> Result:
    """Check all files of the index and remove damaged ones.

    Removed data is made again when it is needed. Files that are not git-ctx's are listed and left alone. The
    exit status is 0 if nothing is damaged, and 1 otherwise, even after a repair.
    """
    import ctx
    from ctx.maintenance import fsck

    with Counter(shown=sys.stderr.isatty()) as counter, ctx.open(".") as index:

        def show(done: int, total: int) -> None:
            counter.show(f"checking: {100 * done // max(total, 1):3d}% of {pluralize(total, 'file')}")

        report = fsck.check(index.session, full=full, dry_run=dry_run, on_progress=show)
    found = {"type": "fsck_result", "dryRun": dry_run, **fields(report)}
    return Result(found, lines(report), FOUND if report.findings else 0)


def fields(report: Report) -> dict[str, object]:
    """Return the report as JSON fields."""
    return fields_of(report, uncompared="notCompared") | {
        "findings": [fields_of(finding, repaired="mended") for finding in report.findings]
    }


def lines(report: Report) -> list[str]:
    """Return a line for each damaged file, then a summary."""
    wrong = len(report.findings)
    return [
        *(
            f"{'repaired' if found.repaired else 'damaged'} {found.kind} {found.path}: {found.problem}"
            for found in report.findings
        ),
        *(f"not of git-ctx, left alone: {path}" for path in report.foreign),
        *(
            f"tree {tree.hex()[:12]} is not in the repository, so it was not compared"
            for tree in report.uncompared
        ),
        f"checked {pluralize(sum(report.checked.values()), 'file')}, "
        + (f"{wrong:,} damaged" if wrong else "no damage found"),
    ]
