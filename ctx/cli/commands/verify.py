"""`git ctx verify`: rebuild clusters and compare them with the stored ones."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.share.verify import VerifyReport

DIFFERS = 1
"""Exit status if a cluster differs, or if no cluster could be rebuilt."""


@click.command(short_help="Check what was fetched, by rebuilding some of it.")
@click.argument("revision", required=False)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Check N clusters, chosen at random; all by default.",
)
@click.option("--seed", type=int, metavar="N", help="Choose the same ones as another run with this seed.")
@options.json_output
@options.root
def command(revision: str | None, sample: int | None, seed: int | None, json_output: bool) -> int:
    """Rebuild clusters of REVISION (HEAD if none is given) from the files and compare them bit by bit.

    The stored words of the clusters are compared too, if REVISION was searched or indexed here.

    With --sample N, the texts of N clusters of a remote model are also sent to it and embedded again; the
    vectors have to be nearly the same.

    `git ctx fsck` finds what was damaged here; this finds what somebody else has published wrongly. Exits
    with 1 where anything differs, or where nothing could be checked since no file is in this clone.
    `git ctx remove-index` and `git ctx index` make everything again.
    """
    import ctx
    from ctx.share.verify import verify, verify_remote

    chosen = random.randrange(1 << 31) if seed is None else seed
    with ctx.open(".") as index:
        report = verify(index, revision, sample, chosen)
        remote = None if sample is None else verify_remote(index, revision, sample, chosen)
    if json_output:
        print_json(
            {
                "type": "verify_result",
                **_object(report),
                "differingWords": [key.hex() for key in report.words],
                "seed": chosen,
                "remote": None if remote is None else {"model": remote.model, **_object(remote)},
            }
        )
    else:
        for one in filter(None, (report, remote)):
            _print(one)
    differs = report.differing or report.words or (remote is not None and remote.differing)
    return DIFFERS if differs or (report.impossible and not report.verified) else 0


def _object(report: VerifyReport) -> dict[str, Any]:
    return {
        "verified": report.verified,
        "differing": [key.hex() for key in report.differing],
        "impossible": [key.hex() for key in report.impossible],
    }


def _print(report: VerifyReport) -> None:
    who = f"{escape_control(report.model)}: " if report.model else ""
    for key in report.differing:
        click.echo(f"{who}cluster {key.hex()} is not what its files make of it")
    for key in report.words:
        click.echo(f"the words of cluster {key.hex()} are not those of its files")
    impossible = f"; the files of {len(report.impossible):,} are not here" if report.impossible else ""
    differ = len(report.differing) + len(report.words)
    click.echo(f"{who}{pluralize(report.verified, 'cluster')} rebuilt, {differ:,} differ{impossible}")
