"""`git ctx fsck`: check all stored files, and remove damaged ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.maintenance.fsck import Report

FOUND = 1
"""Exit status if something was wrong, repaired or not."""


@click.command(short_help="Look into all that is stored, and remove what is damaged.")
@click.option("--full", is_flag=True, help="Also compare each snapshot with its tree as git has it.")
@click.option("--dry-run", is_flag=True, help="Remove nothing.")
@options.json_output
@options.root
def command(full: bool, dry_run: bool, json_output: bool) -> int:
    """Look into every file of the index. What is damaged is removed, and made again when it is needed.

    Files that are not git-ctx's are listed and left alone. The exit status is 0 when all is well, and 1 when
    something was wrong, even if it was repaired.
    """
    import ctx
    from ctx.maintenance import fsck

    progress = Line(sys.stderr.isatty() and not json_output)
    try:
        with ctx.open(".") as index:
            report = fsck.check(index, full=full, dry_run=dry_run, on_progress=progress.step)
    finally:
        progress.end()
    if json_output:
        print_json({"type": "fsck_result", "dryRun": dry_run, **fields(report)})
    else:
        click.echo(text(report))
    return FOUND if report.findings else 0


class Line:
    """Progress as one updated line, as in git."""

    def __init__(self, shown: bool) -> None:
        self.shown = shown
        self.last = ""

    def step(self, done: int, total: int) -> None:
        """Show the progress if its percentage has changed."""
        state = f"checking: {100 * done // max(total, 1):3d}%"
        if self.shown and state != self.last:
            self.last = state
            sys.stderr.write(f"\r{state} of {pluralize(total, 'file')}")
            sys.stderr.flush()

    def end(self) -> None:
        """Erase the line."""
        if self.last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def fields(report: Report) -> dict[str, object]:
    """Return the report as JSON fields."""
    return {
        "checked": report.checked,
        "findings": [
            {"path": found.path, "kind": found.kind, "problem": found.problem, "mended": found.repaired}
            for found in report.findings
        ],
        "foreign": report.foreign,
        "notCompared": [tree.hex() for tree in report.uncompared],
    }


def text(report: Report) -> str:
    """Return the report as text: a line for each damaged file, then a summary."""
    lines = [
        f"{'repaired' if found.repaired else 'damaged'} {found.kind} {found.path}: {found.problem}"
        for found in report.findings
    ]
    lines += [f"not of git-ctx, left alone: {path}" for path in report.foreign]
    lines += [
        f"tree {tree.hex()[:12]} is not in the repository, so not compared" for tree in report.uncompared
    ]
    wrong = len(report.findings)
    lines.append(
        f"checked {pluralize(sum(report.checked.values()), 'file')}, "
        + (f"{wrong:,} damaged" if wrong else "all is well")
    )
    return "\n".join(map(escape_control, lines))
