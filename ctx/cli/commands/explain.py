"""`git ctx explain`: the reasons why a file is, or is not, selected for a task."""

from __future__ import annotations

from typing import Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.pack import pack_options
from ctx.cli.commands.progress import open_index, reporter_for
from ctx.errors import NO_HITS


@click.command
@click.argument("path")
@click.option("--task", metavar="TEXT", required=True, help="The task; `-` reads it from stdin.")
@pack_options
@options.as_json
@options.root
def command(path: str, task: str, as_json: bool, **pack: Any) -> int:
    """Explain why a file is, or is not, found for a task.

    Shown are whether PATH is indexed, the evidence for it given the task, its place in a pack for that task,
    and the files that it uses or is used by. The exit status is 0 if the file is indexed, and 1 if it is left
    out or not in the tree.
    """
    text = options.from_stdin(task)
    reporter = reporter_for()
    with open_index(reporter) as index:
        from ctx.cli.commands.evidence_output import print_explanation, print_json_explanation
        from ctx.pack.types import PackOptions
        from ctx.search.evidence.types import INDEXED

        given = {key: value for key, value in pack.items() if value is not None}
        explanation = index.explain(path, text, PackOptions(**given))
        reporter.close()
        if as_json:
            print_json_explanation(explanation)
        else:
            print_explanation(explanation, index.repository.prefix)
    return 0 if explanation.indexing == INDEXED else NO_HITS
