"""`git ctx fetch`: fetch a published index from a remote."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import Result, note
from ctx.cli.commands.progress import reporter_for
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.share.fetch import FetchedLayer, FetchReport

NOTHING_PUBLISHED = 1
"""Exit status if the remote has no index."""


@click.command(cls=options.WithPathspecs, options_metavar="[OPTIONS]")
@click.argument("remote", required=False)
@click.option("--revision", "revisions", multiple=True, metavar="REV", help="For REV; may be repeated.")
@options.path_filter("Only what is needed for the files that a git pathspec matches")
@click.option("--sparse", is_flag=True, help="Only what is needed for the files of the sparse checkout.")
@options.silent
@options.result
def command(
    remote: str | None, revisions: tuple[str, ...], paths: tuple[str, ...], sparse: bool, silent: bool
) -> Result:
    """Fetch a published index from a remote.

    Missing data of HEAD, or of the named revisions, is fetched from REMOTE and checked before it is stored.
    The next search or `git ctx index` makes what REMOTE does not have. The exit status is 1 if REMOTE has no
    index.
    """
    import ctx
    from ctx.share.fetch import fetch

    with ctx.open(".") as index:
        report = fetch(
            index.session,
            remote,
            revisions,
            paths=paths,
            sparse=sparse,
            may_ask=sys.stdin.isatty() and not silent,
        )
        whole = not report.own.missing and not report.own.refused
        if report.published and whole and not paths and not sparse:
            # Only term counts are missing; making them needs no model.
            reporter = reporter_for(silent=silent)
            index.session.on_progress = reporter.progress
            with reporter:
                for revision in revisions or (None,):
                    index.session.index(revision, trigger="fetch", ask_model=False)
    warn(report)
    if report.whole and report.own.fetched and not silent:
        note(f"{report.remote} can send its index only as a whole, so all of it is fetched")
    status = 0 if report.published else NOTHING_PUBLISHED
    return Result(fields(report), [] if silent else summary(report), status)


def warn(report: FetchReport) -> None:
    """Print warnings about refused clusters and other problems on stderr."""
    words = report.own.words
    for key, why in words.refused if words is not None else ():
        name = f"cluster {key.hex()} from {report.remote}"
        note(f"the words of {name} were refused and are counted here: {why}", "warning")
    for layer in filter(None, (report.own, report.service)):
        for key, why in layer.refused:
            note(f"cluster {key.hex()} from {report.remote} was refused: {why}", "warning")
        if layer.problem is not None:
            note(layer.problem, "warning")


def fields(report: FetchReport) -> dict[str, Any]:
    """Return the result of a fetch as JSON fields."""
    own, service, words = report.own, report.service, report.own.words
    return {
        "type": "fetch_result",
        "remoteName": report.remote,
        "published": report.published,
        "whole": report.whole,
        **fields_of_layer(own),
        "words": words
        and {"clusters": words.fetched, "bytes": words.size, "refused": refused(words.refused)},
        "remote": service
        and {"model": service.model, **fields_of_layer(service), "problem": service.problem},
    }


def fields_of_layer(layer: FetchedLayer) -> dict[str, Any]:
    """Return the result for one layer as JSON fields."""
    fields = {"clusters": layer.fetched, "bytes": layer.size, "lacking": layer.missing}
    return {**fields, "refused": refused(layer.refused)}


def refused(clusters: Sequence[tuple[bytes, str]]) -> list[dict[str, str]]:
    """Return refused clusters as JSON objects."""
    return [{"key": key.hex(), "reason": why} for key, why in clusters]


def summary(report: FetchReport) -> list[str]:
    """Return the result as one line, and a second one for a model service."""
    if not report.published:
        return [f"{report.remote} has no published index"]
    service = report.service
    return [
        line_of(report.own, report.remote),
        *([f"{service.model}: {line_of(service, report.remote)}"] if service else []),
    ]


def line_of(layer: FetchedLayer, remote: str) -> str:
    """Return the result for one layer as one line."""
    left = layer.missing + len(layer.refused)
    if not layer.fetched and not left:
        return f"nothing to fetch from {remote}: all clusters are here"
    text = f"fetched {pluralize(layer.fetched, 'cluster')} ({pluralize(layer.size, 'byte')})"
    if layer.words is not None:
        text += f" and the words of {layer.words.fetched:,} ({pluralize(layer.words.size, 'byte')})"
    text += f" from {remote}"
    if left:
        makes = "`git ctx index` has them embedded"
        if not layer.model:
            makes = "a search or `git ctx index` makes them"
        text += f"; {left:,} {'is' if left == 1 else 'are'} still missing: {makes}"
    return text
