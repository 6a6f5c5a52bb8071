"""The plain values of an answer about history."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """Lines, 1-based and inclusive, that a commit added (of its file) or removed (of its parent's)."""

    path: bytes
    first: int
    last: int
    is_removed: bool
    score: float


class CommitHit(NamedTuple):
    """A commit that answers; times in seconds since 1970.

    `score` is in 0..1 and compares within one answer.
    """

    commit: bytes
    author: str
    author_time: int
    committer_time: int
    subject: str
    score: float
    is_merge: bool
    places: list[Place]


class Month(NamedTuple):
    """How much of the query went on in a month (`2024-05`): commits that speak of it, and their scores."""

    month: str
    commits: int
    strength: float


class Known(NamedTuple):
    """How much of a history is known, in commits.

    `passed` get through the filters. `merges`, those at the `edge` of a shallow clone, and the `unread` ones,
    whose objects are not here, have their message alone; of `cut` ones not all changes are known.
    """

    commits: int
    passed: int
    indexed: int
    merges: int
    cut: int
    edge: int
    unread: int


class HistoryAnswer(NamedTuple):
    """The commits of one revision's history that answer, and what that history is."""

    hits: list[CommitHit]
    revision: str
    commit: bytes
    tree: bytes
    timeline: list[Month]
    known: Known
    message: str | None
    seconds: float
