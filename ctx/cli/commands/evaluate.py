"""`git ctx evaluate`: evaluate search quality on the commits of this repository."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result
from ctx.cli.commands.progress import Counter
from ctx.errors import INTERRUPTED
from ctx.text.pluralize import pluralize

MOST_COMMITS = 10_000


@click.command
@options.revision_argument
@click.option(
    "-n",
    "--commits",
    type=click.IntRange(1, MOST_COMMITS),
    default=200,
    show_default=True,
    metavar="N",
    help="Replay N commits.",
)
@click.option(
    "--compare",
    multiple=True,
    metavar="NAME=VALUE",
    help="Also search with this setting (several with commas between); may be repeated.",
)
@options.result
def command(revision: str | None, commits: int, compare: tuple[str, ...]) -> Result:
    """Measure search quality on past commits.

    Each of the last commits to REVISION (HEAD by default) is replayed: its message is the query, the tree
    before it is searched, and the files that it changed are the expected hits. Left out are merges, and
    commits that only move, format or raise versions, that only add files, change too many, or say too little.
    """
    import ctx
    from ctx.cli.commands import evaluate_output
    from ctx.search.evaluation.evaluate import evaluate

    with ctx.open(".") as index, Counter() as counter:

        def progress(done: int) -> None:
            counter.show(f"{done:,} of {pluralize(commits, 'commit')} replayed")

        found = evaluate(index.session, revision, most=commits, compare=compare, progress=progress)
    lines = evaluate_output.lines(found)
    return Result(evaluate_output.fields(found), lines, INTERRUPTED if found.interrupted else 0)
