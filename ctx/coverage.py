"""How much of its tree an answer knows, as numbers and in words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ctx.contents import MISSING
from ctx.resolve import HEAD
from ctx.values import Answer, Behind, Coverage

if TYPE_CHECKING:
    from ctx.views.view import View


def coverage_of(view: View) -> Coverage:
    """What a view has of its tree."""
    files = view.indexed_files - view.scanned
    complete = not (view.scanned or view.uncovered or view.skipped.get(MISSING))
    return Coverage(complete, files, view.chunks, dict(view.skipped), view.scanned, view.uncovered)


def lacks_in_words(answer: Answer, is_partial_clone: bool) -> str | None:
    """What to tell the user of an answer that does not know all of its tree, and what mends it."""
    coverage, distance = answer.coverage, answer.behind
    if missing := coverage.skipped.get(MISSING):
        revision = "" if answer.resolved_by == HEAD else f" {shlex.quote(answer.revision)}"
        way_out = (
            f"`git ctx index --fetch{revision}` gets them"
            if is_partial_clone
            else "`git fetch --refetch` may bring them, `git fsck` looks for damage"
        )
        return f"{missing:,} files of this tree are not in this clone and were not searched: {way_out}"
    if not coverage.scanned and not coverage.uncovered:
        return None
    lacking = (
        f"{coverage.scanned + coverage.uncovered:,} files of this tree are not indexed yet "
        f"({coverage.scanned:,} were looked through by words, {coverage.uncovered:,} not at all)"
    )
    if distance is not None:
        name = (distance.commit or distance.tree).hex()[:12]
        lacking += f", the nearest that is, {name}, is {distance_in_words(distance, answer.revision)}"
    return f"{lacking}: `git ctx index` indexes them"


def distance_in_words(distance: Behind, revision: str) -> str:
    """`3 commits behind main, 12 files differ`."""
    files = f"{distance.files:,} file{' differs' if distance.files == 1 else 's differ'}"
    if distance.commits is None:
        return f"not of its history, {files} from {revision}"
    commits = f"{distance.commits:,} commit{'' if distance.commits == 1 else 's'} behind {revision}"
    return f"{commits}, {files}"
