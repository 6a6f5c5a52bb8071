"""`git ctx related`: find similar code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import answer_output, options, streams
from ctx.cli.commands.printing import print_json
from ctx.cli.commands.progress import reporter_for
from ctx.cli.commands.search import LIMIT_FOR_EYES, announce
from ctx.errors import NO_HITS
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.cli.commands.answer_text import TextOf
    from ctx.types import Answer, Hit

LIMIT_FOR_CHANGES = 3


@click.command(cls=options.WithPathspecs, short_help="Find code like some code.", options_metavar="[OPTIONS]")
@click.argument("place", required=False, metavar="[PLACE] [-- PATHSPEC...]")
@options.limit(f"At most N hits; {LIMIT_FOR_EYES} by default, {LIMIT_FOR_CHANGES} for each change.")
@options.path_filter()
@options.languages
@options.one_tree("Look in this commit or tree.", "Look in the tip of this branch.")
@options.overlay
@options.within
@options.as_json
@options.text_of_hits()
@options.color
@options.root
@click.pass_context
def command(
    context: click.Context,
    place: str | None,
    limit: int | None,
    path_filters: tuple[str, ...],
    languages: tuple[str, ...],
    revision: str | None,
    branch: str | None,
    within: str | None,
    as_json: bool,
    no_content: bool,
    full_name: bool,
    color: str,
) -> int:
    """Find code like that at PLACE: <path>:<line>, <path>:<first>-<last>, a citation, or `-` for stdin.

    Without a place, --staged or --in RANGE ask of each chunk that was added or modified whether something
    like it exists elsewhere already. The exit status is 0 with hits and 1 without.
    """
    options.revision_and_branch(revision, branch)
    overlay = options.one_overlay(context, revision or branch)
    within = options.one_range(within, place is None and overlay == "staged", overlay, revision or branch)
    if (place is None) == (within is None):
        raise click.UsageError("Give a place (<path>:<line>, a citation, - for stdin), or --staged or --in.")
    import ctx

    pathspecs = options.pathspecs(context, path_filters)
    reporter = reporter_for()
    with reporter, ctx.open(".", on_progress=reporter.progress, on_plan=announce) as index:
        prefix = b"" if full_name else index.repository.prefix
        text_of = None if no_content else index.session.text
        if within is not None:
            answer, found = index.related_changes(
                within,
                staged=overlay == "staged",
                limit=limit or LIMIT_FOR_CHANGES,
                paths=pathspecs,
                languages=languages,
            )
            reporter.close()
            if as_json:
                print_json(changes_object(within, answer, found, text_of))
            else:
                print_changes(found, text_of, prefix)
                if answer.message:
                    click.echo(f"note: {escape_control(answer.message)}", err=True)
            return 0 if found else NO_HITS
        code = sys.stdin.buffer.read().decode("utf-8", "replace") if place == "-" else None
        answer = index.related(
            None if place == "-" else place,
            code or "",
            limit=limit or LIMIT_FOR_EYES,
            paths=pathspecs,
            languages=languages,
            revision=revision,
            branch=branch,
            overlay=overlay,
        )
        reporter.close()
        if as_json:
            answer_output.print_json_answer(answer, text_of)
        elif streams.takes_colour(color, sys.stdout):
            from ctx.cli.commands.answer_terminal import print_coloured

            print_coloured(answer, code or "", text_of, prefix)
        else:
            from ctx.cli.commands.answer_text import print_plain

            print_plain(answer, code or "", text_of, prefix)
    return 0 if answer.hits else NO_HITS


def changes_object(
    within: str, answer: Answer, found: list[tuple[Hit, list[Hit]]], text_of: TextOf | None
) -> dict[str, object]:
    """Return each changed chunk and its related hits as an object."""
    return {
        "type": "related_changes_result",
        "range": within,
        "message": answer_output.message_of(answer, len(found)),
        **answer_output.tree_fields(answer),
        "results": [
            {
                "changed": answer_output.hit_object(changed, None),
                "related": [answer_output.hit_object(hit, text_of) for hit in hits],
            }
            for changed, hits in found
        ],
    }


def print_changes(found: list[tuple[Hit, list[Hit]]], text_of: TextOf | None, prefix: bytes) -> None:
    """Print each changed chunk, followed by its related hits."""
    from ctx.cli.commands.answer_text import place_of, print_hit
    from ctx.cli.commands.change_output import change_in_words

    for changed, hits in found:
        state = f" ({change_in_words(changed.change)})" if changed.change else ""
        sys.stdout.write(f"{place_of(changed, prefix)}{state} is like:\n\n")
        for hit in hits:
            print_hit(hit, "", text_of, prefix)
    count = len(found)
    sys.stdout.write(
        f"-- {pluralize(count, 'change') if count else 'no changes'} with something like it elsewhere\n"
    )
