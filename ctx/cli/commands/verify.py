"""`git ctx verify`: rebuild clusters and compare them with the stored ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, fields_of
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.share.verify import VerifyReport

DIFFERS = 1
"""Exit status if a cluster differs, or if no cluster could be rebuilt."""


@click.command
@options.revision_argument
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Check N random clusters, and send as many to the configured model; all by default.",
)
@click.option("--seed", type=int, metavar="N", help="Choose the same clusters as another run with this seed.")
@options.result
def command(revision: str | None, sample: int | None, seed: int | None) -> Result:
    """Rebuild clusters from the files, and compare them.

    The comparison is bit by bit, for the clusters of REVISION (HEAD by default). Their stored words are
    compared too, if REVISION was searched or indexed here.

    With --sample N, the texts of N clusters of a model service are also sent to it and embedded again; the
    vectors have to be nearly the same.

    `git ctx fsck` finds local damage; this finds data that was published wrongly. The exit status is 1 if
    anything differs, or if nothing could be checked because no file is in this clone. `git ctx remove-index`
    and `git ctx index` make everything again.
    """
    import ctx
    from ctx.share.verify import verify, verify_embeddings

    chosen = random.randrange(1 << 31) if seed is None else seed
    with ctx.open(".") as index:
        report = verify(index.session, revision, sample, chosen)
        remote = None if sample is None else verify_embeddings(index.session, revision, sample, chosen)
    fields = {
        "type": "verify_result",
        **fields_of(report, model="", words="differingWords"),
        "seed": chosen,
        "remote": remote and fields_of(remote, words=""),
    }
    text = (line for one in (report, remote) if one for line in lines(one))
    differs = report.differing or report.words or (remote is not None and remote.differing)
    return Result(fields, text, DIFFERS if differs or (report.impossible and not report.verified) else 0)


def lines(report: VerifyReport) -> Iterator[str]:
    """Yield a line for each cluster that differs, then a summary."""
    model = f"{report.model}: " if report.model else ""
    for key in report.differing:
        yield f"{model}cluster {key.hex()} differs from the one rebuilt from its files"
    for key in report.words:
        yield f"the words of cluster {key.hex()} differ from those of its files"
    missing = f"; the files of {len(report.impossible):,} are not in this clone" if report.impossible else ""
    differ = len(report.differing) + len(report.words)
    yield f"{model}{pluralize(report.verified, 'cluster')} rebuilt, {differ:,} differ{missing}"
