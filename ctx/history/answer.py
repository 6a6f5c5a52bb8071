"""Search in the history of one commit: matching commits, and when something was added or removed."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ctx.errors import Damaged, UsageError
from ctx.git.commits import edges, history_of, matching
from ctx.git.pathspec import compile_pathspecs
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL
from ctx.history.block import ADDED, CUT, EDGE, MERGE, REMOVED, UNREAD
from ctx.history.blocks import Blocks, OnProgress
from ctx.history.introductions import introductions
from ctx.history.ranking import CommitScores, rank, strongest
from ctx.history.results import ChangedLines, CommitHit, HistoryAnswer, HistoryCoverage, Month
from ctx.history.view import View, Views, view_name, view_of
from ctx.storage.arrays import Bools, Ints
from ctx.storage.store import Store
from ctx.text.contents import MAX_SIZE
from ctx.text.pluralize import pluralize

FIRST, LAST = "first", "last"
"""Values of `asks`: the commits that first added, or last removed, the subject of the query."""
_DOUBT = "several commits may be the first, or none is about all of this; this is the most likely one"
PLACES = 3
"""Number of changed places shown of a commit."""
_NEAR_BEST = 0.5
"""Minimum share of the best score for a commit in the timeline, and for a place to be shown."""
_OLDEST, _YOUNGEST = -62_135_596_800, 253_402_300_799
"""First second of year 1 and last of year 9999."""


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
    view, indexed, waiting = open_view(repository, store, tip, on_progress)
    commits, rows = _passing(repository, view, tip, filters)
    scores = rank(view, query, rows)
    if asks == FIRST:
        found = introductions(view, query, commits, rows, partial(_subject, repository, view))
        order, message = found.commits.tolist(), None if found.is_sure or not len(found.commits) else _DOUBT
    else:
        order, message = _order(view, scores, commits, asks)
    hits = [_hit(repository, view, scores, int(place), asks) for place in order[:limit]]
    known = _known(view, int(commits.sum()), indexed, waiting)
    months = _timeline(view, scores, commits) if timeline else []
    return HistoryAnswer(
        hits=hits,
        revision=revision,
        commit=tip.hex(),
        tree=repository.commit_info(tip).tree.hex(),
        timeline=months,
        coverage=known,
        message="; ".join(filter(None, (_lacks(known), message))) or None,
        seconds=time.monotonic() - started,
    )


def open_view(
    repository: Repository, store: Store, tip: bytes, on_progress: OnProgress | None = None
) -> tuple[View, int, int]:
    """Return the view of a commit's history, built if needed.

    And the number of commits read for it, and of those left out because `on_progress` ended the reading.
    """
    name = view_name(tip, edges(repository))
    views = Views(store)
    view = views.find(name, tip)
    if view is not None:
        if views.grows_old(name):
            Blocks(repository, store, view.history()).touch()
        return view, 0, 0
    blocks = Blocks(repository, store, history_of(repository, tip))
    view = view_of(blocks.load(on_progress))
    # If a concurrent fetch moved the shallow boundary, the listing may be of either state.
    is_whole = not blocks.waiting and not (view.arrays["commit_flags"] & UNREAD).any()
    if is_whole and name == view_name(tip, edges(repository)):
        views.keep(name, view)
    blocks.touch()
    return view, blocks.indexed, blocks.waiting


def text_of(repository: Repository, commit: str, place: ChangedLines) -> str | None:
    """Return the lines of a place, read from git; None if they cannot be read."""
    name = f"{commit}{'^' if place.is_removed else ''}:".encode() + os.fsencode(place.path)
    found = repository.objects.find_header(name)
    if found is None or found.kind != "blob" or found.size > MAX_SIZE:
        return None
    try:
        data = repository.read_blob(found.oid)
    except KeyError:
        return None
    lines = data.split(b"\n")[place.first - 1 : place.last]
    return b"\n".join(lines).decode("utf-8", "replace") if lines else None


def _passing(
    repository: Repository, view: View, tip: bytes, filters: CommitFilters
) -> tuple[Bools, Bools | None]:
    """Return masks of the commits and rows that pass the filters; None for all rows."""
    commits = np.ones(view.commits, dtype=bool)
    if filters.since is not None or filters.until is not None or filters.authors:
        passed = matching(repository, tip, filters.since, filters.until, filters.authors)
        commits &= np.array([oid in passed for oid in view.ids()], dtype=bool)
    if not filters.paths:
        return commits, None
    matches = compile_pathspecs(filters.paths, repository.prefix, repository.work_tree)
    paths = view.all_paths()
    known = {path: matches(path) for path in set(paths)}
    passing = np.array([known[path] for path in paths], dtype=bool)
    own = np.zeros(view.commits, dtype=bool)
    own[view.commit_of_path()[passing]] = True
    places = view.places_of_rows
    rows = places < 0
    rows[~rows] = passing[places[~rows]]
    return commits & own, rows


def _order(
    view: View, scores: CommitScores, commits: Bools, asks: str | None
) -> tuple[list[int], str | None]:
    """Return the matching commits in order, and a message or None; `asks` is None or LAST."""
    if asks is None:
        places = np.flatnonzero(commits & (scores.commit > 0))
        # Age only breaks ties: the younger commit first.
        order: list[int] = places[np.lexsort((-places, -scores.commit[places]))].tolist()
        return order, None
    places, message = strongest(scores.lost, commits), None
    if not len(places):
        places = _closest_in_meaning(view, scores, commits, REMOVED)
        if len(places):
            message = "no commit removed most of these words; this is the nearest in meaning"
    if len(places):
        added = strongest(scores.gained, commits)
        later = added[added > places[-1]]
        if len(later):
            back = view.commit_id(int(later[0])).hex()[:12]
            message = f"it was added again, or more of it, in {back}"
    return places[::-1].tolist(), message


def _subject(repository: Repository, view: View, commit: int) -> str:
    """Return the subject of a commit, "" if it is missing."""
    try:
        return repository.commit_info(view.commit_id(commit)).subject
    except KeyError:
        return ""


def _closest_in_meaning(view: View, scores: CommitScores, commits: Bools, kind: int) -> Ints:
    score = np.zeros(view.commits)
    own = np.flatnonzero(view.arrays["row_kind"] == kind)
    np.maximum.at(score, view.commit_of_row[own], scores.row[own])
    best = float(score[commits].max(initial=0.0))
    return np.flatnonzero(commits & (score > 0) & (score >= 0.75 * best))


def _hit(
    repository: Repository, view: View, scores: CommitScores, commit: int, asks: str | None
) -> CommitHit:
    oid = view.commit_id(commit)
    try:
        info = repository.commit_info(oid)
    except KeyError as error:
        raise Damaged(f"commit {oid.hex()[:12]} is missing: `git fsck` looks for damage") from error
    rows = np.arange(*np.searchsorted(view.commit_of_row, (commit, commit + 1)))
    kinds = view.arrays["row_kind"]
    shown = {FIRST: (ADDED,), LAST: (REMOVED,), None: (ADDED, REMOVED)}[asks]
    score = np.where(np.isin(kinds[rows], shown), scores.row[rows], 0.0)
    order = np.argsort(-score, kind="stable")[:PLACES]
    near = order[(score[order] > 0) & (score[order] >= _NEAR_BEST * score.max(initial=0.0))]
    places = [
        ChangedLines(
            path=os.fsdecode(view.path(int(view.places_of_rows[row]))),
            first=int(view.arrays["row_first"][row]),
            last=int(view.arrays["row_last"][row]),
            is_removed=int(kinds[row]) == REMOVED,
            score=float(scores.row[row]),
        )
        for row in rows[near].tolist()
        if view.places_of_rows[row] >= 0
    ]
    return CommitHit(
        commit=oid.hex(),
        author=info.author_name,
        author_time=info.author_time,
        committer_time=info.committer_time,
        subject=info.subject,
        score=float(scores.commit[commit]),
        is_merge=len(info.parents) > 1,
        places=places,
    )


def _timeline(view: View, scores: CommitScores, commits: Bools) -> list[Month]:
    """Return every month from the first to the last commit that passes the filters."""
    if not commits.any():
        return []
    best = float(scores.commit[commits].max())
    strong = commits & (scores.commit > 0) & (scores.commit >= _NEAR_BEST * best)
    times = view.arrays["commit_time"]
    # Times beyond year 9999 count as 1970.
    times = np.where((times < _OLDEST) | (times > _YOUNGEST), 0, times)
    months = times.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) + 1970 * 12
    first, last = int(months[commits].min()), int(months[commits].max())
    place = months[strong] - first
    count = np.bincount(place, minlength=last - first + 1).tolist()
    strength = np.bincount(place, scores.commit[strong], last - first + 1).astype(np.float64).tolist()
    return [
        Month(month=f"{month // 12:04d}-{month % 12 + 1:02d}", commits=count[at], strength=strength[at])
        for at, month in enumerate(range(first, last + 1))
    ]


def _known(view: View, passed: int, indexed: int, waiting: int) -> HistoryCoverage:
    flags = view.arrays["commit_flags"]
    merges, cut, edge, unread = (int((flags & flag != 0).sum()) for flag in (MERGE, CUT, EDGE, UNREAD))
    return HistoryCoverage(
        commits=view.commits,
        passed=passed,
        indexed=indexed,
        merges=merges,
        truncated=cut,
        edge=edge,
        unread=unread,
        waiting=waiting,
    )


def _lacks(known: HistoryCoverage) -> str | None:
    if known.waiting:
        return (
            f"the {pluralize(known.waiting, 'oldest commit')} of {known.commits + known.waiting:,} are not "
            "indexed yet and were not searched: ask again to go on"
        )
    if known.unread:
        return (
            f"the changes of {pluralize(known.unread, 'commit')} are not here and were not searched: "
            f"`{FETCH_ALL}` fetches the objects missing in a partial clone, `git fsck` looks for damage"
        )
    if known.edge:
        return "this clone is shallow, so its history is incomplete: `git fetch --unshallow` fetches the rest"
    return None
