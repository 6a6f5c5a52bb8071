"""`git ctx fetch`: fetch a published index from a remote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.json_output import print_json
from ctx.cli.commands.progress import reporter_for
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.share.take import FetchReport, Taken

NOTHING_PUBLISHED = 1
"""Exit status if the remote has no index."""


@click.command(
    cls=options.WithPathspecs,
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
    """Fetch from REMOTE the published index of HEAD, or of the named revisions, as far as it is missing.

    All data is checked before it is stored. The next search or `git ctx index` makes what REMOTE does not
    have. The exit status is 1 if REMOTE has no index.
    """
    import ctx
    from ctx.share.fetch import fetch

    paths = options.pathspecs(context, path_filters)
    with ctx.open(".") as index:
        report = fetch(
            index, remote, revisions, paths=paths, sparse=sparse, may_ask=sys.stdin.isatty() and not silent
        )
        whole = not report.own.lacking and not report.own.refused
        if report.published and whole and not paths and not sparse:
            # Only term counts are missing; making them needs no model.
            reporter = reporter_for(silent=silent or json_output)
            index.on_progress = reporter.progress
            with reporter:
                for revision in revisions or (None,):
                    index.index(revision, trigger="fetch", ask_model=False)
    tell(report, silent=silent, json_output=json_output)
    return 0 if report.published else NOTHING_PUBLISHED


def warn(report: FetchReport) -> None:
    """Print warnings about refused clusters and other problems on stderr."""
    words = report.own.words
    for key, why in words.refused if words is not None else ():
        said = f"the words of cluster {key.hex()} were refused and are counted here"
        click.echo(f"warning: {said}: {escape_control(why)}", err=True)
    for layer in filter(None, (report.own, report.remote)):
        for key, why in layer.refused:
            click.echo(f"warning: cluster {key.hex()} was refused: {escape_control(why)}", err=True)
        if layer.problem is not None:
            click.echo(f"warning: {escape_control(layer.problem)}", err=True)


def tell(report: FetchReport, *, silent: bool, json_output: bool) -> None:
    """Print the result of a fetch as JSON or as text."""
    warn(report)
    if report.whole and not silent:
        click.echo("note: the remote gives its index only as a whole, so all of it is fetched", err=True)
    if json_output:
        found: dict[str, Any] = {
            "type": "fetch_result",
            "published": report.published,
            "whole": report.whole,
            **_object(report.own),
        }
        if (words := report.own.words) is not None:
            found["words"] = {
                "clusters": words.taken,
                "bytes": words.size,
                "refused": _refused(words.refused),
            }
        if report.remote is not None:
            remote = {
                "model": report.remote.model,
                **_object(report.remote),
                "problem": report.remote.problem,
            }
            found["remote"] = remote
        print_json(found)
    elif not silent:
        click.echo(summary(report))


def _object(layer: Taken) -> dict[str, Any]:
    return {
        "clusters": layer.taken,
        "bytes": layer.size,
        "lacking": layer.lacking,
        "refused": _refused(layer.refused),
    }


def _refused(refused: Sequence[tuple[bytes, str]]) -> list[dict[str, str]]:
    return [{"key": key.hex(), "reason": why} for key, why in refused]


def summary(report: FetchReport) -> str:
    """Return the result of a fetch as one line, and a second one for a remote model."""
    if not report.published:
        return "the remote has no index"
    text = _line(report.own)
    return (
        text
        if report.remote is None
        else f"{text}\n{escape_control(report.remote.model)}: {_line(report.remote)}"
    )


def _line(layer: Taken) -> str:
    if not layer.taken and not layer.lacking and not layer.refused:
        return "nothing was lacking"
    text = f"took {pluralize(layer.taken, 'cluster')} ({pluralize(layer.size, 'byte')})"
    if layer.words is not None:
        text += f" and the words of {layer.words.taken:,} ({pluralize(layer.words.size, 'byte')})"
    if layer.lacking or layer.refused:
        makes = (
            "`git ctx index` has them embedded" if layer.model else "a search or `git ctx index` makes them"
        )
        left = layer.lacking + len(layer.refused)
        text += f"; {left:,} {'is' if left == 1 else 'are'} still lacking: {makes}"
    return text
