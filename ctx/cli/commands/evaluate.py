"""`git ctx evaluate`: evaluate search quality on the commits of this repository."""

from __future__ import annotations

import click

from ctx.cli.commands import options
from ctx.errors import INTERRUPTED

MOST_COMMITS = 10_000


@click.command(short_help="Grade searches on the last commits.")
@click.argument("revision", required=False)
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
@click.option("--fit", "fitting", is_flag=True, help="Learn a correction from the older half of the commits.")
@options.json_output
@options.root
def command(
    revision: str | None, commits: int, compare: tuple[str, ...], fitting: bool, json_output: bool
) -> int:
    """Search for the messages of the last commits to REVISION (default HEAD), each in the tree before it.

    The files that a commit changed are the expected hits. Merges are left out, and commits that only moved,
    formatted or raised versions, add files only, change too many, or say too little.
    """
    import ctx
    from ctx.cli.commands import evaluate_output
    from ctx.search.evaluation.evaluate import evaluate

    with ctx.open(".") as index, evaluate_output.Steps() as steps:
        found = evaluate(index, revision, most=commits, compare=compare, fitting=fitting, step=steps.step)
        steps.close()
        if json_output:
            evaluate_output.print_json_evaluation(found)
        else:
            evaluate_output.print_evaluation(found, fitting)
    return INTERRUPTED if found.interrupted else 0
