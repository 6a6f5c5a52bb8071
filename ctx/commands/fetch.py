"""`git ctx fetch`: take from a remote what others have published."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ctx.commands import options
from ctx.commands.json_output import print_json
from ctx.commands.progress import reporter_for
from ctx.commands.search import SearchCommand

if TYPE_CHECKING:
    from ctx.share.take import FetchReport


@click.command(
    cls=SearchCommand,
    short_help="Take the index of a tree from a remote.",
    options_metavar="[OPTIONS]",
)
@click.argument("remote", required=False)
@click.option("--revision", "revisions", multiple=True, metavar="REV", help="For REV; may be repeated.")
@click.option(
    "-p",
    "--path-filter",
    "path_filters",
    multiple=True,
    metavar="PATHSPEC",
    help="Only what is needed for the files that a git pathspec matches; may be given after `--`.",
)
@click.option("--sparse", is_flag=True, help="Only what is needed for the files of the sparse checkout.")
@click.option("--silent", is_flag=True, help="Print nothing but errors.")
@options.json_output
@options.root
@click.pass_context
def command(
    context: click.Context,
    remote: str | None,
    revisions: tuple[str, ...],
    path_filters: tuple[str, ...],
    sparse: bool,
    silent: bool,
    json_output: bool,
) -> int:
    """Take from REMOTE what its published index has of HEAD, or of what is named, and this one lacks.

    Everything is checked before it is taken. What the remote lacks is made by the next search or
    `git ctx index`. Nothing is fetched of what is here already.
    """
    import ctx
    from ctx.share.fetch import fetch

    paths = path_filters + context.meta.get("pathspecs", ())
    with ctx.open(".") as index:
        report = fetch(
            index, remote, revisions, paths=paths, sparse=sparse, may_ask=sys.stdin.isatty() and not silent
        )
        if report.published and not report.lacking and not report.refused and not paths and not sparse:
            # All vectors are here: what is left to do is counting words, which needs no model.
            reporter = reporter_for(silent=silent or json_output)
            with reporter:
                for revision in revisions or (None,):
                    index.index(revision, trigger="fetch", progress=reporter.progress)
    tell(report, silent=silent, json_output=json_output)
    return 0


def tell(report: FetchReport, *, silent: bool, json_output: bool) -> None:
    """Say what was taken, to a program or to eyes."""
    for key, why in report.refused:
        click.echo(f"warning: cluster {key.hex()} was refused: {why}", err=True)
    if json_output:
        print_json(
            {
                "type": "fetch_result",
                "published": report.published,
                "clusters": report.taken,
                "bytes": report.size,
                "lacking": report.lacking,
                "refused": [{"key": key.hex(), "reason": why} for key, why in report.refused],
            }
        )
    elif not silent:
        click.echo(summary(report))


def summary(report: FetchReport) -> str:
    """What a fetch did as one line."""
    if not report.published:
        return "the remote has no index"
    if not report.taken and not report.lacking and not report.refused:
        return "nothing was lacking"
    text = f"took {report.taken:,} clusters ({report.size:,} bytes)"
    if report.lacking or report.refused:
        text += (
            f"; {report.lacking + len(report.refused):,} are still lacking: a search or `git ctx index` "
            "makes them"
        )
    return text
