"""`git ctx verify`: make clusters anew and compare."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.text.escaping import printable
from ctx.text.pluralize import counted

if TYPE_CHECKING:
    from ctx.share.verify import VerifyReport

DIFFERS = 1
"""The exit status where a cluster is not what it should be."""


@click.command(short_help="Check what was fetched, by making some of it anew.")
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
    """Make clusters of REVISION (HEAD if none is given) anew from the files and compare them to the bit.

    So are the words by which they are found, where REVISION was searched or indexed here.

    With --sample, so many clusters of a remote model are embedded anew too, which sends their text there; its
    vectors have to be nearly the same.

    `git ctx fsck` finds what was damaged here; this finds what somebody else has published wrongly. Exits
    with 1 where anything differs; `git ctx remove-index` and `git ctx index` make all anew.
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
    return DIFFERS if report.differing or report.words or (remote is not None and remote.differing) else 0


def _object(report: VerifyReport) -> dict[str, Any]:
    return {
        "verified": report.verified,
        "differing": [key.hex() for key in report.differing],
        "impossible": [key.hex() for key in report.impossible],
    }


def _print(report: VerifyReport) -> None:
    who = f"{printable(report.model)}: " if report.model else ""
    for key in report.differing:
        click.echo(f"{who}cluster {key.hex()} is not what its files make of it")
    for key in report.words:
        click.echo(f"the words of cluster {key.hex()} are not those of its files")
    impossible = f"; the files of {len(report.impossible):,} are not here" if report.impossible else ""
    differ = len(report.differing) + len(report.words)
    click.echo(f"{who}{counted(report.verified, 'cluster')} made anew, {differ:,} differ{impossible}")
