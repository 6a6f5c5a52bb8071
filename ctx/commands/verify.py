"""`git ctx verify`: make clusters anew and compare."""

from __future__ import annotations

import random

import click

from ctx.commands import options
from ctx.commands.json_output import print_json

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

    `git ctx fsck` finds what was damaged here; this finds what somebody else has published wrongly. Exits
    with 1 where anything differs; `git ctx remove-index` and `git ctx index` make all anew.
    """
    import ctx
    from ctx.share.verify import verify

    chosen = random.randrange(1 << 31) if seed is None else seed
    with ctx.open(".") as index:
        report = verify(index, revision, sample, chosen)
    if json_output:
        print_json(
            {
                "type": "verify_result",
                "verified": report.verified,
                "differing": [key.hex() for key in report.differing],
                "impossible": [key.hex() for key in report.impossible],
                "seed": chosen,
            }
        )
    else:
        for key in report.differing:
            click.echo(f"cluster {key.hex()} is not what its files make of it")
        impossible = f"; the files of {len(report.impossible):,} are not here" if report.impossible else ""
        click.echo(f"{report.verified:,} clusters made anew, {len(report.differing):,} differ{impossible}")
    return DIFFERS if report.differing else 0
