"""Result values of a search in history."""

from __future__ import annotations

from typing import NamedTuple


class ChangedLines(NamedTuple):
    """Lines, 1-based and inclusive, added by a commit (in its file) or removed (in its parent's file)."""

    path: bytes
    first: int
    last: int
    is_removed: bool
    score: float


class CommitHit(NamedTuple):
    """A matching commit; times in seconds since 1970.

    `score` is in 0..1 and comparable within one answer.
    """

    commit: bytes
    author: str
    author_time: int
    committer_time: int
    subject: str
    score: float
    is_merge: bool
    places: list[ChangedLines]


class Month(NamedTuple):
    """Activity in a month (`2024-05`): number of matching commits, and the sum of their scores."""

    month: str
    commits: int
    strength: float


class HistoryCoverage(NamedTuple):
    """Coverage of a history, in numbers of commits.

    `passed` pass the filters. `merges`, those at the `edge` of a shallow clone and `unread` ones, whose
    objects are missing, are searched by message only; the changes of `cut` ones are truncated.
    """

    commits: int
    passed: int
    indexed: int
    merges: int
    cut: int
    edge: int
    unread: int


class HistoryAnswer(NamedTuple):
    """The matching commits of one revision's history, and its coverage."""

    hits: list[CommitHit]
    revision: str
    commit: bytes
    tree: bytes
    timeline: list[Month]
    coverage: HistoryCoverage
    message: str | None
    seconds: float
