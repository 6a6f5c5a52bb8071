"""Answers as text: hits with snippets, and a last line that names the tree."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ctx.cli.commands.change_output import (
    change_in_words,
    changed_lines,
    comparison_in_words,
    evolution_lines,
    sign_of,
)
from ctx.cli.commands.snippet import shown_changes
from ctx.search.citations import SHORT, citation
from ctx.text.escaping import escape_control, harmless
from ctx.text.paths import from_here, quoted
from ctx.text.pluralize import pluralize
from ctx.types import Answer, Hit, Uncommitted

TextOf = Callable[[Hit], str | None]
"""Returns the text of a hit, None if it cannot be read."""


def print_plain(answer: Answer, query: str, text_of: TextOf | None, prefix: bytes) -> None:
    """Print greppable lines `path:first-last:symbol`, each followed by a numbered and indented snippet."""
    write = sys.stdout.write
    if answer.message:
        write(f"{escape_control(answer.message)}\n\n")
    for hit in answer.hits:
        print_hit(hit, query, text_of, prefix)
    write(closing_line(answer) + "\n")


def print_hit(hit: Hit, query: str, text_of: TextOf | None, prefix: bytes) -> None:
    """Print one hit, with its text unless `text_of` is None."""
    write = sys.stdout.write
    write(f"{place_of(hit, prefix)}\n    cite {cite(hit)}\n")
    if hit.duplicate is not None:
        write(f"    {hit.duplicate}\n")
    if hit.change is not None:
        write(f"    {change_in_words(hit.change)}\n")
    if hit.evolution is not None:
        write("".join(f"    {line}\n" for line in evolution_lines(hit.evolution)))
    if hit.also_at:
        write(f"    also at {also_at(hit, prefix)}\n")
    if text_of is not None:
        text = text_of(hit)
        write(f"    {no_text(hit)}\n\n" if text is None else snippet(hit, text, query) + "\n")


def no_text(hit: Hit) -> str:
    """Return the text shown for an unreadable hit. In a partial clone git fetches the blob on demand."""
    return (
        f"the text is not in this clone, or damaged: `git cat-file -p {hit.blob.hex()}` gets it or says why"
    )


def place_of(hit: Hit, prefix: bytes) -> str:
    """Return `path:first-last:symbol`."""
    first, last = hit.position.start_line, hit.position.end_line
    return f"{quoted(from_here(hit.path, prefix))}:{first}-{last}:{harmless(hit.symbol)}"


def snippet(hit: Hit, text: str, query: str) -> str:
    """Return some lines of a text, numbered and indented."""
    out = ""
    lines, width, before = text.split("\n"), len(str(hit.position.end_line)), -1
    changed, sign = changed_lines(hit), sign_of(hit)
    for number in shown_changes(text, query, changed):
        if number != before + 1:
            out += f"    {'':{width}}  ...\n"
        mark = sign if number in changed else " "
        line = f"  {mark} {hit.position.start_line + number:{width}}  {harmless(lines[number])}"
        out += line.rstrip() + "\n"
        before = number
    return out


def cite(hit: Hit) -> str:
    """Return the citation of a hit with a short id, which `git ctx show` accepts too."""
    return citation(hit.blob, hit.position.start_line, hit.position.end_line, SHORT)


def also_at(hit: Hit, prefix: bytes) -> str:
    """Return up to three other paths of a hit and the number of the rest."""
    named = [quoted(from_here(path, prefix)) for path in hit.also_at[:3]]
    more = len(hit.also_at) - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def closing_line(answer: Answer, shown: int | None = None) -> str:
    """Return the last line: number of hits, revision, tree, coverage and time.

    `shown` is the number of hits if it differs from that of the answer.
    """
    count = len(answer.hits) if shown is None else shown
    hits = pluralize(count, "hit") if count else "no hits"
    commit = f" {answer.commit.hex()[:12]}" if answer.commit else ""
    coverage, uncommitted = answer.coverage, answer.uncommitted
    changes = f" {uncommitted_in_words(uncommitted)}" if uncommitted and uncommitted.changed else ""
    parts = [
        f"{hits} in {answer.revision}{commit}{changes}",
        comparison_in_words(answer.comparison)
        if answer.comparison
        else f"tree {answer.tree.hex()[:12]} ({answer.resolved_by})",
        f"{'all' if coverage.complete else 'only'} {pluralize(coverage.files, 'file')}, "
        + pluralize(coverage.chunks, "chunk"),
    ]
    if answer.submodules:
        searched = sum(one.commit is not None for one in answer.submodules)
        parts.append(f"{searched:,} of {pluralize(len(answer.submodules), 'submodule')} searched")
    left_out = sum(coverage.skipped.values())
    if left_out:
        parts.append(f"{left_out:,} left out")
    if answer.ranked_with:
        parts.append(f"ranked with {', '.join(answer.ranked_with)}")
    if answer.further_queries:
        asked = ", ".join(f'"{query}"' for query in answer.further_queries)
        parts.append(f"also asked {asked}")
    if uncommitted and uncommitted.left_out:
        parts.append(left_out_in_words(uncommitted))
    return escape_control(f"-- {'; '.join(parts)}; {answer.seconds:.2f} s")


def uncommitted_in_words(uncommitted: Uncommitted) -> str:
    """Return `with 2 files not committed`."""
    files = pluralize(uncommitted.changed, "file")
    known = {"work tree": f"{files} not committed", "staged": f"{files} staged"}
    return (
        f"with {known.get(uncommitted.state, f'{uncommitted.state} of the conflict, {files} not committed')}"
    )


def left_out_in_words(uncommitted: Uncommitted) -> str:
    """Return `7 files of many untracked not looked at`."""
    return f"{pluralize(uncommitted.left_out, 'file')} of many untracked not looked at"
