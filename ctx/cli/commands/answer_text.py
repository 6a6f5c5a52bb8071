"""Answers as text: hits with snippets, and a last line that names the tree."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from ctx.cli.commands.answer_groups import Group, grouped, signature_of
from ctx.cli.commands.printing import shown_path
from ctx.cli.commands.snippet import numbered, shown_changes
from ctx.text.escaping import display_line, escape_control
from ctx.text.paths import SHORT, citation
from ctx.text.pluralize import pluralize, pluralize_with
from ctx.text.wording import format_date
from ctx.types import NEW, Answer, ChunkChange, Comparison, Evolution, Hit, Uncommitted

_SUBJECT = 72
"""Maximum characters of a commit subject."""
_MOST_RANGES = 6
"""Maximum number of changed line ranges to list."""


def print_plain(answer: Answer, shown: Sequence[Hit], query: str, prefix: bytes, *, with_text: bool) -> None:
    """Print the shown hits as greppable lines `path:first-last:symbol`.

    The first of each file is followed by a numbered and indented snippet.
    """
    if answer.message:
        sys.stdout.write(f"{escape_control(answer.message)}\n\n")
    if with_text:
        for group in grouped(shown):
            print_group(group, query, prefix)
    else:
        for hit in shown:
            print_hit(hit, query, prefix, with_text=False)
    sys.stdout.write(closing_line(answer, shown=len(shown)) + "\n")


def print_group(group: Group, query: str, prefix: bytes) -> None:
    """Print the hits of one file: the best with its text, the others by their signatures, and the tests."""
    print_hit(group.best, query, prefix, with_text=True, end="")
    for hit in group.others:
        line, text = signature_of(hit, query)
        sys.stdout.write(f"{place_of(hit, prefix)}\n    {line}  {text}\n")
    for hit in group.tests:
        tested = hit.tests[1] if hit.tests else ""
        sys.stdout.write(f"{place_of(hit, prefix)}\n    tests {display_line(tested)}\n")
    sys.stdout.write("\n")


def print_hit(hit: Hit, query: str, prefix: bytes, *, with_text: bool, end: str = "\n") -> None:
    """Print one hit; `end` follows its text."""
    lines = [place_of(hit, prefix), f"    cite {cite(hit)}"]
    lines += [f"    {line}" for _, line in remarks(hit, prefix)]
    if with_text:
        text = hit.text
        lines += [f"    {no_text(hit)}"] if text is None else snippet(hit, text, query)
    sys.stdout.write("\n".join(lines) + "\n" + (end if with_text else ""))


def remarks(hit: Hit, prefix: bytes) -> Iterator[tuple[str, str]]:
    """Yield the lines between the head of a hit and its text, each with a style for the terminal."""
    if hit.duplicate is not None:
        yield "bold red", hit.duplicate
    if hit.change is not None:
        yield "yellow", change_in_words(hit.change)
    if hit.evolution is not None:
        for line in evolution_lines(hit.evolution):
            yield "dim", line
    if hit.also_at:
        named = ", ".join(shown_path(path, prefix) for path in hit.also_at[:3])
        more = len(hit.also_at) - 3
        yield "dim", f"also at {named}" + (f" and {more:,} more" if more > 0 else "")


def no_text(hit: Hit) -> str:
    """Return the text shown for an unreadable hit. In a partial clone git fetches the blob on demand."""
    return f"the text is missing or damaged; `git cat-file -p {hit.blob}` fetches it or shows the error"


def place_of(hit: Hit, prefix: bytes) -> str:
    """Return `path:first-last:symbol`."""
    lines = f"{hit.position.start_line}-{hit.position.end_line}"
    return f"{shown_path(hit.path, prefix)}:{lines}:{display_line(hit.symbol)}"


def snippet(hit: Hit, text: str, query: str) -> Iterator[str]:
    """Yield some lines of a text, numbered and indented; those that differ have a sign.

    A definition begins with its signature, even if the text is a later piece of it.
    """
    changed, sign = changed_lines(hit), sign_of(hit)
    first = hit.position.start_line
    signature = hit.signature
    is_later = signature is not None and signature[0] < first
    if signature is not None and is_later:
        yield f"    {signature[0]:{len(str(hit.position.end_line))}}  {display_line(signature[1])}".rstrip()
    code = max(0, signature[0] - first) if signature else 0
    shown = shown_changes(text, query, changed, code, is_later=is_later)
    if signature is not None and is_later and shown[0] == 0 and signature[0] + 1 < first:
        yield f"    {'':{len(str(hit.position.end_line))}}  ..."
    for number, line in numbered(text, shown, hit.position.start_line):
        yield f"  {sign if number in changed else ' '} {line}"


def cite(hit: Hit) -> str:
    """Return the citation of a hit with a short id, which `git ctx show` accepts too."""
    return citation(hit.blob, hit.position.start_line, hit.position.end_line, SHORT)


def closing_line(answer: Answer, shown: int | None = None) -> str:
    """Return the last line: number of hits, revision, tree, coverage and time.

    `shown` is the number of hits if it differs from that of the answer.
    """
    count = len(answer.hits) if shown is None else shown
    left_out = len(answer.hits) - count
    hits = pluralize(count, "hit") if count else "no hits"
    commit = f" {answer.commit[:12]}" if answer.commit else ""
    coverage, uncommitted = answer.coverage, answer.uncommitted
    changes = f" {uncommitted_in_words(uncommitted)}" if uncommitted and uncommitted.changed else ""
    tree = f"tree {answer.tree[:12]} ({answer.resolved_by})"
    cut = f" ({left_out} more with far less evidence: use -n {len(answer.hits)})" if left_out > 0 else ""
    parts = [
        f"{hits}{cut} in {answer.revision}{commit}{changes}",
        comparison_in_words(answer.comparison) if answer.comparison else tree,
        f"{'all' if coverage.complete else 'only'} {pluralize(coverage.files, 'file')}, "
        + pluralize(coverage.chunks, "chunk"),
    ]
    if answer.submodules:
        searched = sum(one.commit is not None for one in answer.submodules)
        parts.append(f"{searched:,} of {pluralize(len(answer.submodules), 'submodule')} searched")
    if left_out := sum(coverage.skipped.values()):
        parts.append(f"{pluralize(left_out, 'file')} left out")
    if answer.ranked_with:
        parts.append(f"ranked with {', '.join(answer.ranked_with)}")
    if answer.further_queries:
        queries = ", ".join(f'"{query}"' for query in answer.further_queries)
        parts.append(f"also searched {queries}")
    if uncommitted and uncommitted.left_out:
        parts.append(left_out_in_words(uncommitted))
    return escape_control(f"-- {'; '.join(parts)}; {answer.seconds:.2f} s")


def uncommitted_in_words(uncommitted: Uncommitted) -> str:
    """Return `with 2 files not committed`."""
    files = pluralize(uncommitted.changed, "file")
    known = {"work tree": f"{files} not committed", "staged": f"{files} staged"}
    conflict = f"{uncommitted.state} of the conflict, {files} not committed"
    return f"with {known.get(uncommitted.state, conflict)}"


def left_out_in_words(uncommitted: Uncommitted) -> str:
    """Return `7 files of many untracked not searched`."""
    return f"{pluralize(uncommitted.left_out, 'file')} of many untracked not searched"


def change_in_words(change: ChunkChange) -> str:
    """Return text such as `modified, lines 12-14, 20` or `removed, lines 3-9 of the old text`."""
    ranges = [f"{a}" if a == b else f"{a}-{b}" for a, b in change.lines[:_MOST_RANGES]]
    left = len(change.lines) - len(ranges)
    named = ", ".join(ranges) + (f" and {pluralize(left, 'more range')}" if left else "")
    plural = "" if len(change.lines) == 1 and "-" not in named else "s"
    return f"{change.state}, line{plural} {named}" + ("" if change.side == NEW else " of the old text")


def evolution_lines(evolution: Evolution) -> Iterator[str]:
    """Yield a line for each commit that changed a hit, newest first."""
    if evolution.uncommitted:
        yield "changed, not committed"
    for one in evolution.commits:
        subject = one.subject if len(one.subject) <= _SUBJECT else one.subject[:_SUBJECT] + "…"
        yield escape_control(f"changed {format_date(one.time)} {one.commit[:12]} {one.author}: {subject}")
    if not evolution.complete:
        yield "possibly changed before that too: `git log -L` shows more"


def changed_lines(hit: Hit) -> frozenset[int]:
    """Return the numbers of the lines of a hit's text that differ, counted from 0."""
    first = hit.position.start_line
    ranges = hit.change.lines if hit.change else ()
    return frozenset(line - first for a, b in ranges for line in range(a, b + 1))


def sign_of(hit: Hit) -> str:
    """Return the sign before a line that differs, as in a diff."""
    return "+" if hit.change is None or hit.change.side == NEW else "-"


def comparison_in_words(other: Comparison) -> str:
    """Return `against main 1a2b3c4d5e6f: 3 files differ, chunks: 4 added, 2 modified, 0 removed`."""
    short = other.commit[:12] if other.commit else ""
    name = other.revision if not short or short in other.revision else f"{other.revision} {short}"
    files = pluralize_with(other.files, "file", "differs", "differ")
    return (
        f"against {name}: {files}, chunks: {other.added:,} added, {other.modified:,} modified, "
        f"{other.removed:,} removed"
    )
