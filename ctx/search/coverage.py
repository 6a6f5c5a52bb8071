"""Coverage of a tree by an answer, as numbers and as messages."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctx.git.resolution import HEAD
from ctx.git.unknown import FETCH_ALL
from ctx.text.contents import MISSING
from ctx.text.pluralize import pluralize, pluralize_with
from ctx.types import LEFT_OUT, NO_COMMIT, NOT_HERE, Answer, Behind, Coverage, Submodule

if TYPE_CHECKING:
    from ctx.storage.views.view import View


_NAMED = 3
"""Number of submodules that a message names."""


def coverage_of(view: View) -> Coverage:
    """Return the coverage of a view's tree."""
    files = view.indexed_files - view.scanned
    complete = not (view.scanned or view.uncovered or view.without_words or view.skipped.get(MISSING))
    return Coverage(
        complete=complete,
        files=files,
        chunks=view.chunks,
        skipped=dict(view.skipped),
        scanned=view.scanned,
        uncovered=view.uncovered,
        without_words=view.without_words,
    )


def lacks_in_words(answer: Answer, is_partial_clone: bool) -> str | None:
    """Return a message about the parts of the tree that an answer does not cover, with the remedy."""
    coverage, distance = answer.coverage, answer.behind
    if missing := coverage.skipped.get(MISSING, 0) + coverage.without_words:
        revision = "" if answer.resolved_by == HEAD else f" {shlex.quote(answer.revision)}"
        remedy = (
            f"`git ctx index --fetch{revision}` gets {_them(missing)}"
            if is_partial_clone
            else f"`{FETCH_ALL}` may bring {_them(missing)}, `git fsck` looks for damage"
        )
        what = pluralize_with(missing, "file", "of this tree is", "of this tree are")
        if not coverage.without_words:
            return f"{what} not in this clone and not searched: {remedy}"
        searched = "all" if coverage.without_words == missing else f"{coverage.without_words:,}"
        return (
            f"{what} not in this clone, {searched} searched by symbols, paths and vectors only, "
            f"without words: {remedy}"
        )
    if not coverage.scanned and not coverage.uncovered:
        return None
    count = coverage.scanned + coverage.uncovered
    lacking = (
        pluralize_with(count, "file", "of this tree is", "of this tree are")
        + f" not indexed yet ({coverage.scanned:,} looked through by words, "
        f"{coverage.uncovered:,} not at all)"
    )
    if distance is not None:
        name = (distance.commit or distance.tree)[:12]
        lacking += f", the nearest that is, {name}, is {distance_in_words(distance, answer.revision)}"
    return f"{lacking}: `git ctx index` indexes {_them(count)}"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def submodules_in_words(submodules: Sequence[Submodule], unlisted: int = 0) -> str | None:
    """Return a message about submodules that were not searched, or not at the pinned commit.

    `unlisted` is the number of submodules that no `.gitmodules` lists.
    """
    sentences = []
    remedies = {
        NOT_HERE: "{} not checked out and {} not searched: `git submodule update --init --recursive` "
        "brings {}",
        NO_COMMIT: "{} here without the commit that is pinned and {} not searched: "
        "`git submodule update --recursive` brings {}",
    }
    for problem, words in remedies.items():
        paths = [one.path for one in submodules if one.problem == problem]
        if paths:
            several = len(paths) > 1
            verbs = ("are", "were", "them") if several else ("is", "was", "it")
            sentences.append(f"{_named(paths)} {words.format(*verbs)}")
    for one in submodules:
        if one.problem not in (None, LEFT_OUT, *remedies):
            sentences.append(f"{_named([one.path])} was not searched: {one.problem}")
        elif one.commit not in (None, one.pinned):
            at, pinned = (one.commit or "")[:12], one.pinned[:12]
            sentences.append(
                f"{_named([one.path])} was searched as it is checked out, at {at}; {pinned} is pinned"
            )
    if unlisted:
        have = "submodules have" if unlisted > 1 else "submodule has"
        sentences.append(f"{unlisted:,} {have} no entry in .gitmodules and cannot be searched")
    return "; ".join(sentences) or None


def _named(names: list[str]) -> str:
    """Return `the submodule lib`, or `the submodules a, b, c and 3 more`."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"the submodule{'s' * (len(names) > 1)} {', '.join(names[:_NAMED])}{more}"


def distance_in_words(distance: Behind, revision: str) -> str:
    """Return `3 commits behind main, 12 files differ`, or how many commits ahead of it, or both."""
    files = pluralize_with(distance.files, "file", "differs", "differ")
    behind, ahead = distance.commits, distance.ahead
    if behind is None:
        return f"not of its history, {files} from {revision}"
    if behind and ahead:
        where = f"{pluralize(behind, 'commit')} behind {revision} and {ahead:,} ahead of it"
    elif ahead:
        where = f"{pluralize(ahead, 'commit')} ahead of {revision}"
    else:
        where = f"{pluralize(behind, 'commit')} behind {revision}" if behind else f"at {revision}"
    return f"{where}, {files}"
