"""`git ctx plan`: estimate the cost of indexing a revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of, revision_fields
from ctx.text.pluralize import pluralize_with

if TYPE_CHECKING:
    from ctx.types import IndexPlan


@click.command
@options.revision_argument
@click.option("--branch", metavar="NAME", help="Use the tip of a branch.")
@options.result
def command(revision: str | None, branch: str | None) -> Result:
    """Estimate the cost of indexing a revision, HEAD by default.

    Counts blobs, and estimates chunks, tokens and seconds. Reads only names and sizes, and writes nothing.
    """
    options.at_most_one({"A revision": revision, "--branch": branch})
    import ctx

    with ctx.open(".") as index:
        plan = index.plan(revision, branch=branch)
    return Result(fields(plan), lines(plan))


def fields(plan: IndexPlan) -> dict[str, object]:
    """Return a plan as JSON fields."""
    return {
        "type": "plan_result",
        **fields_of(plan, size="sizeBytes", chunks="", tokens="", seconds=""),
        **revision_fields(plan.revision, plan.commit, plan.tree),
        "estimated": {"chunks": plan.chunks, "tokens": plan.tokens, "seconds": round(plan.seconds, 1)},
    }


def lines(plan: IndexPlan) -> list[str]:
    """Return a plan as lines."""
    commit = f" {plan.commit[:12]}" if plan.commit else ""
    where = f"{plan.revision}{commit}, tree {plan.tree[:12]}"
    if plan.covered:
        return [f"{where} is indexed: nothing to do"]
    missing = pluralize_with(plan.missing_blobs, "more blob", "is", "are")
    return [
        where,
        f"  new clusters {plan.new_clusters:>12,}",
        f"  new blobs    {plan.new_blobs:>12,}  {plan.size / 1e6:,.1f} MB",
        f"  chunks       {plan.chunks:>12,}  estimated",
        f"  tokens       {plan.tokens:>12,}  estimated",
        f"  seconds      {plan.seconds:>12,.1f}  estimated, of one processor",
        *([f"  {missing} not in this clone"] if plan.missing_blobs else []),
    ]
