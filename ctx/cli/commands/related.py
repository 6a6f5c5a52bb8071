"""`git ctx related`: find similar code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import answer_output, options
from ctx.cli.commands.printing import note, print_json
from ctx.cli.commands.progress import open_index, reporter_for
from ctx.cli.commands.search import LIMIT_FOR_EYES
from ctx.errors import NO_HITS
from ctx.text.pluralize import pluralize
from ctx.types import STAGED

if TYPE_CHECKING:
    from ctx.types import Answer, Hit

LIMIT_FOR_CHANGES = 3


@click.command(cls=options.WithPathspecs, options_metavar="[OPTIONS]")
@click.argument("place", required=False, metavar="[PLACE] [-- PATHSPEC...]")
@options.selection("Search", f"At most N hits; {LIMIT_FOR_EYES} by default, {LIMIT_FOR_CHANGES} a change.")
@options.as_json
@options.color
@options.text_of_hits()
def command(
    place: str | None, as_json: bool, color: str, no_content: bool, full_name: bool, **selection: Any
) -> int:
    """Find code similar to some code.

    PLACE is <path>:<line>, <path>:<first>-<last>, a citation, or `-` for code on stdin. Without a place,
    --staged or --in RANGE look for code similar to each chunk that was added or modified. The exit status is
    0 with hits and 1 without.
    """
    chosen = options.selected(selection, lambda overlay: place is None and overlay == STAGED)
    within = chosen.pop("within")
    if (place is None) == (within is None):
        raise click.UsageError("Give a place (<path>:<line>, a citation, - for stdin), or --staged or --in.")
    limit = chosen.pop("limit")
    reporter = reporter_for()
    with open_index(reporter) as index:
        prefix = b"" if full_name else index.repository.prefix
        if within is not None:
            staged = chosen["overlay"] == STAGED
            paths, languages = chosen["paths"], chosen["languages"]
            answer, found = index.related_changes(
                within, staged=staged, limit=limit or LIMIT_FOR_CHANGES, paths=paths, languages=languages
            )
            reporter.close()
            if as_json:
                print_json(changes_object(within, answer, found, not no_content))
            else:
                print_changes(found, prefix, not no_content)
                if answer.message:
                    note(answer.message)
            return 0 if found else NO_HITS
        code = options.from_stdin(place) if place == "-" else ""
        answer = index.related(None if place == "-" else place, code, limit=limit or LIMIT_FOR_EYES, **chosen)
        reporter.close()
        form = "--json" if as_json else None
        answer_output.print_answer(
            "related", answer, code, prefix, form=form, with_text=not no_content, color=color
        )
    return 0 if answer.hits else NO_HITS


def changes_object(
    within: str, answer: Answer, found: list[tuple[Hit, list[Hit]]], with_text: bool
) -> dict[str, object]:
    """Return each changed chunk and its related hits as an object."""
    hits = [
        {
            "changed": answer_output.hit_object(changed, False),
            "related": [answer_output.hit_object(hit, with_text) for hit in hits],
        }
        for changed, hits in found
    ]
    return answer_output.envelope("related_changes", answer, hits, range=within)


def print_changes(found: list[tuple[Hit, list[Hit]]], prefix: bytes, with_text: bool) -> None:
    """Print each changed chunk, followed by its related hits."""
    from ctx.cli.commands.answer_text import change_in_words, place_of, print_hit

    for changed, hits in found:
        state = f" ({change_in_words(changed.change)})" if changed.change else ""
        sys.stdout.write(f"{place_of(changed, prefix)}{state} is similar to:\n\n")
        for hit in hits:
            print_hit(hit, "", prefix, with_text=with_text)
    count = pluralize(len(found), "change") if found else "no changes"
    sys.stdout.write(f"-- {count} with similar code elsewhere\n")
