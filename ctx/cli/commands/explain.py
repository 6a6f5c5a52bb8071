"""`git ctx explain`: the reasons why a file is, or is not, selected for a task."""

from __future__ import annotations

import sys
from typing import Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.pack import BUDGET_MAX, FILES_MAX
from ctx.cli.commands.progress import reporter_for
from ctx.cli.commands.search import announce
from ctx.errors import NO_HITS


@click.command(short_help="Say why a file is, or is not, part of what a task needs.")
@click.argument("path")
@click.option("--task", metavar="TEXT", required=True, help="What is to be done; `-` reads it from stdin.")
@click.option(
    "--budget-tokens",
    "budget",
    type=click.IntRange(1, BUDGET_MAX),
    metavar="N",
    help="As for a pack of at most N tokens.",
)
@click.option(
    "--max-files", type=click.IntRange(1, FILES_MAX), metavar="N", help="As for a pack of at most N files."
)
@click.option(
    "--revision", metavar="REV", help="In this commit or tree; by default the files as they lie there."
)
@options.as_json
@options.root
def command(
    path: str, task: str, budget: int | None, max_files: int | None, revision: str | None, as_json: bool
) -> int:
    """Show why PATH is found or not.

    Prints whether it is indexed, the evidence for it given a task, its place in a pack for that task, and
    the files that it uses or is used by.

    The exit status is 0 where the file is indexed, and 1 where it is left out or not in the tree.
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if task == "-" else task
    import ctx

    reporter = reporter_for()
    with reporter, ctx.open(".", on_progress=reporter.progress, on_plan=announce) as index:
        from ctx.cli.commands.evidence_output import print_explanation, print_json_explanation
        from ctx.pack.types import PackOptions
        from ctx.search.evidence.types import INDEXED

        given: dict[str, Any] = {"budget": budget, "max_files": max_files, "revision": revision}
        wanted = PackOptions()._replace(**{key: value for key, value in given.items() if value is not None})
        explanation = index.explain(path, text, wanted)
        reporter.close()
        if as_json:
            print_json_explanation(explanation)
        else:
            print_explanation(explanation, index.repository.prefix)
    return 0 if explanation.indexing == INDEXED else NO_HITS
