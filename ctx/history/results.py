"""Result values of a search in history."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedLines:
    """Lines, 1-based and inclusive, added by a commit (in its file) or removed (in its parent's file)."""

    path: str
    first: int
    last: int
    is_removed: bool
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitHit:
    """A matching commit; times in seconds since 1970.

    `score` is in 0..1 and comparable within one answer.
    """

    commit: str
    author: str
    author_time: int
    committer_time: int
    subject: str
    score: float
    is_merge: bool
    places: list[ChangedLines]


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """Activity in a month (`2024-05`): number of matching commits, and the sum of their scores."""

    month: str
    commits: int
    strength: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCoverage:
    """Coverage of a history, in numbers of commits.

    `passed` pass the filters. `merges`, those at the `edge` of a shallow clone and `unread` ones, whose
    objects are missing, are searched by message only; the changes of `truncated` ones are incomplete.
    `waiting` commits, older ones, are not indexed yet and were not searched.
    """

    commits: int
    passed: int
    indexed: int
    merges: int
    truncated: int
    edge: int
    unread: int
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAnswer:
    """The matching commits of one revision's history, and its coverage."""

    hits: list[CommitHit]
    revision: str
    commit: str
    tree: str
    timeline: list[Month]
    coverage: HistoryCoverage
    message: str | None
    seconds: float
