"""Search in the history of one commit: matching commits, and when something was added or removed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged, UsageError
from ctx.git.commits import edges, history_of, matching
from ctx.git.pathspec import compile_pathspecs
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL
from ctx.history.block import ADDED, CUT, EDGE, MERGE, REMOVED, UNREAD
from ctx.history.blocks import Blocks, OnProgress
from ctx.history.ranking import Ranking, concerned, rank
from ctx.history.results import ChangedLines, CommitHit, HistoryAnswer, HistoryCoverage, Month
from ctx.history.view import View, Views, view_name, view_of
from ctx.models.static_embedding import static_embedding
from ctx.storage.store import Store
from ctx.text.contents import MAX_SIZE
from ctx.text.pluralize import pluralize

FIRST, LAST = "first", "last"
"""Values of `asks`: the commits that first added, or last removed, the subject of the query."""
PLACES = 3
"""Number of changed places shown of a commit."""
_NEAR_BEST = 0.5
"""Minimum share of the best score for a commit in the timeline, and for a place to be shown."""

Mask = npt.NDArray[np.bool_]


class CommitFilters(NamedTuple):
    """Filters on commits, in the syntax of `git log`."""

    since: str | None = None
    until: str | None = None
    authors: Sequence[str] = ()
    paths: Sequence[str] = ()


def answer(
    repository: Repository,
    store: Store,
    tip: bytes,
    revision: str,
    query: str,
    filters: CommitFilters,
    *,
    limit: int,
    asks: str | None = None,
    timeline: bool = False,
    on_progress: OnProgress | None = None,
) -> HistoryAnswer:
    """Return the matching commits that `tip` reaches; index missing commits first.

    `asks` is None for the best matches, or FIRST or LAST. Raises UsageError, GitFailed, Damaged.
    """
    started = time.monotonic()
    if not query.strip():
        raise UsageError("the query is empty: say in a few words what you look for")
    view, indexed = open_view(repository, store, tip, on_progress)
    commits, rows = _wanted(repository, view, tip, filters)
    found = rank(view, query, static_embedding(), rows)
    order, message = _order(view, found, commits, asks)
    hits = [_hit(repository, view, found, int(place), asks) for place in order[:limit]]
    known = _known(view, int(commits.sum()), indexed)
    months = _timeline(view, found, commits) if timeline else []
    return HistoryAnswer(
        hits,
        revision,
        tip,
        repository.commit_info(tip).tree,
        months,
        known,
        message or _lacks(known),
        time.monotonic() - started,
    )


def open_view(
    repository: Repository, store: Store, tip: bytes, on_progress: OnProgress | None = None
) -> tuple[View, int]:
    """Return the view of a commit's history, built if needed, and the number of commits read for it."""
    name = view_name(tip, edges(repository))
    views = Views(store)
    view = views.find(name, tip)
    if view is not None:
        if views.grows_old(name):
            Blocks(repository, store, static_embedding(), view.history()).touch()
        return view, 0
    blocks = Blocks(repository, store, static_embedding(), history_of(repository, tip))
    view = view_of(blocks.load(on_progress))
    # If a concurrent fetch moved the shallow boundary, the listing may be of either state.
    if not (view.arrays["commit_flags"] & UNREAD).any() and name == view_name(tip, edges(repository)):
        views.keep(name, view)
    blocks.touch()
    return view, blocks.indexed


def text_of(repository: Repository, commit: bytes, place: ChangedLines) -> str | None:
    """Return the lines of a place, read from git; None if they cannot be read."""
    name = f"{commit.hex()}{'^' if place.is_removed else ''}:".encode() + place.path
    found = repository.objects.find_header(name)
    if found is None or found.kind != "blob" or found.size > MAX_SIZE:
        return None
    try:
        data = repository.read_blob(found.oid)
    except KeyError:
        return None
    lines = data.split(b"\n")[place.first - 1 : place.last]
    return b"\n".join(lines).decode("utf-8", "replace") if lines else None


def _wanted(
    repository: Repository, view: View, tip: bytes, filters: CommitFilters
) -> tuple[Mask, Mask | None]:
    """Return masks of the commits and rows that pass the filters; None for all rows."""
    commits = np.ones(view.commits, dtype=bool)
    if filters.since is not None or filters.until is not None or filters.authors:
        passed = matching(repository, tip, filters.since, filters.until, filters.authors)
        commits &= np.array([oid in passed for oid in view.ids()], dtype=bool)
    if not filters.paths:
        return commits, None
    wanted = compile_pathspecs(filters.paths, repository.prefix, repository.work_tree)
    known: dict[bytes, bool] = {}
    every = view.all_paths()
    for path in every:
        if path not in known:
            known[path] = wanted(path)
    passing = np.array([known[path] for path in every], dtype=bool)
    own = np.zeros(view.commits, dtype=bool)
    own[view.commit_of_path()[passing]] = True
    places = view.places_of_rows
    rows = places < 0
    rows[~rows] = passing[places[~rows]]
    return commits & own, rows


def _order(view: View, found: Ranking, commits: Mask, asks: str | None) -> tuple[list[int], str | None]:
    """Return the matching commits in order, and a message or None."""
    if asks is None:
        places = np.flatnonzero(commits & (found.commit > 0))
        # Age only breaks ties: the younger commit first.
        order: list[int] = places[np.lexsort((-places, -found.commit[places]))].tolist()
        return order, None
    share = found.gained if asks == FIRST else found.lost
    places, word = concerned(share, commits), None
    if not len(places):
        kind = ADDED if asks == FIRST else REMOVED
        places = _nearest(view, found, commits, kind)
        if len(places):
            did = "added" if kind == ADDED else "removed"
            word = f"no commit {did} most of these words; this is the nearest in meaning"
    if asks == FIRST:
        return places.tolist(), word
    if len(places):
        again = concerned(found.gained, commits)
        later = again[again > places[-1]]
        if len(later):
            back = view.commit_id(int(later[0])).hex()[:12]
            word = f"it was added again, or more of it, in {back}"
    return places[::-1].tolist(), word


def _nearest(view: View, found: Ranking, commits: Mask, kind: int) -> npt.NDArray[np.int64]:
    score = np.zeros(view.commits)
    own = np.flatnonzero(view.arrays["row_kind"] == kind)
    np.maximum.at(score, view.commit_of_row[own], found.row[own])
    best = float(score[commits].max(initial=0.0))
    return np.flatnonzero(commits & (score > 0) & (score >= 0.75 * best))


def _hit(repository: Repository, view: View, found: Ranking, commit: int, asks: str | None) -> CommitHit:
    oid = view.commit_id(commit)
    try:
        info = repository.commit_info(oid)
    except KeyError as error:
        raise Damaged(f"commit {oid.hex()[:12]} is missing: `git fsck` looks for damage") from error
    start = int(np.searchsorted(view.commit_of_row, commit))
    end = int(np.searchsorted(view.commit_of_row, commit, side="right"))
    kinds = view.arrays["row_kind"][start:end]
    wanted = {FIRST: (ADDED,), LAST: (REMOVED,), None: (ADDED, REMOVED)}[asks]
    scores = np.where(np.isin(kinds, wanted), found.row[start:end], 0.0)
    best = float(scores.max(initial=0.0))
    rows = [row for row in np.argsort(-scores, kind="stable")[:PLACES].tolist() if scores[row] > 0]
    all_places = view.places_of_rows[start:end]
    places = [
        ChangedLines(
            view.path(int(all_places[row])),
            int(view.arrays["row_first"][start + row]),
            int(view.arrays["row_last"][start + row]),
            int(kinds[row]) == REMOVED,
            float(scores[row]),
        )
        for row in rows
        if scores[row] >= _NEAR_BEST * best and all_places[row] >= 0
    ]
    return CommitHit(
        oid,
        info.author_name,
        info.author_time,
        info.committer_time,
        info.subject,
        float(found.commit[commit]),
        len(info.parents) > 1,
        places,
    )


def _timeline(view: View, found: Ranking, commits: Mask) -> list[Month]:
    """Return every month from the first to the last commit that passes the filters."""
    times = view.arrays["commit_time"]
    if not commits.any():
        return []
    best = float(found.commit[commits].max())
    strong = commits & (found.commit > 0) & (found.commit >= _NEAR_BEST * best)
    numbers = np.array([_month(int(second)) for second in times[commits]])
    first, last = int(numbers.min()), int(numbers.max())
    count = np.zeros(last - first + 1, dtype=np.int64)
    strength = np.zeros(last - first + 1)
    for place in np.flatnonzero(strong).tolist():
        number = _month(int(times[place])) - first
        count[number] += 1
        strength[number] += found.commit[place]
    return [
        Month(f"{number // 12:04d}-{number % 12 + 1:02d}", int(count[at]), float(strength[at]))
        for at, number in enumerate(range(first, last + 1))
    ]


def _month(second: int) -> int:
    """Return the months since year 0; 1970 for times out of range."""
    try:
        date = datetime.fromtimestamp(second, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return 1970 * 12
    return date.year * 12 + date.month - 1


def _known(view: View, passed: int, indexed: int) -> HistoryCoverage:
    flags = view.arrays["commit_flags"]
    merges, cut, edge, unread = (int((flags & flag != 0).sum()) for flag in (MERGE, CUT, EDGE, UNREAD))
    return HistoryCoverage(view.commits, passed, indexed, merges, cut, edge, unread)


def _lacks(known: HistoryCoverage) -> str | None:
    if known.unread:
        return (
            f"the changes of {pluralize(known.unread, 'commit')} are not here and were not searched: "
            f"`{FETCH_ALL}` fetches the objects missing in a partial clone, `git fsck` looks for damage"
        )
    if known.edge:
        return "this clone is shallow, so its history is incomplete: `git fetch --unshallow` fetches the rest"
    return None
