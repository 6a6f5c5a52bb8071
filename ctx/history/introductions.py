"""The commits that introduced the subject of a query.

Such a commit adds the words of the query outside of tests, close together and before others do, and its
message is about them. The weights were chosen on one half of a list of features with known first commits, see
`tests/benchmarks/yardsticks/firsts.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ctx.chunking.languages import language_of
from ctx.history.block import ADDED, MESSAGE
from ctx.history.ranking import agreement, terms_of
from ctx.history.view import View
from ctx.storage.arrays import Bools, Floats, Ints, begins
from ctx.storage.views import paths

_MESSAGE, _ROW, _EARLY, _MEANING_OF_MESSAGE, _MEANING_OF_ROW = 0.5, 0.45, 0.3, 0.9, 0.6
"""Weights of the shares of the query in the message and in one row, of early words, and of the vectors."""
_FIRST_USERS = (1.0, 0.6, 0.4)
"""Values of a word in the first commits that add it."""
_SUBJECT = 0.06
"""Change of the score of a commit whose subject says that it adds something, or that it does not."""
_ONLY_TESTS = 0.5
"""Factor of the score of a commit that adds nothing outside of tests and examples."""
_NEAR_BEST = 0.88
"""Share of the best score from which the earliest commit counts as the first."""
_CLOSE_LOOK = 300
"""Number of commits whose paths and subjects are read."""
_SURE, _FEW = 1.65, 5
"""Least best score, and most commits near it, of an answer without doubt."""

_ASIDE = paths.TEST | paths.EXAMPLE | paths.VENDORED
_ADDS = re.compile(
    r"\badd(s|ed)?\b|\bimplement|\bsupport|\binitial\b|^\W*(introduc|new\b|first\b|creat|feat|allow|enable)",
    re.IGNORECASE,
)
_DOES_NOT = re.compile(
    r"(fix|docs?\b|document|tests?\b|refactor|renam|updat|mov|chore|clean|remov|bump|style|typo|merge|revert"
    r"|improv|ci\b|build)",
    re.IGNORECASE,
)


class Introductions(NamedTuple):
    """Commits, the one that introduced the subject first, then by score; False if that is doubtful."""

    commits: Ints
    is_sure: bool


def introductions(
    view: View, query: str, commits: Bools, rows: Bools | None, subject_of: Callable[[int], str]
) -> Introductions:
    """Return the commits that may have introduced the subject of a query.

    `commits` (commits,) and `rows` (rows,) restrict them; `subject_of` returns the subject of a commit.
    """
    kinds, owner = view.arrays["row_kind"], view.commit_of_row
    added = (kinds == ADDED) if rows is None else (kinds == ADDED) & rows
    sign = added.astype(np.int64) - ((kinds != ADDED) & (view.places_of_rows >= 0))
    counts = partial(_counts, view, {})
    message, row, early, mass = np.zeros(view.commits), np.zeros(len(kinds)), np.zeros(view.commits), 0.0
    evident = np.zeros(view.commits, dtype=bool)
    for value, is_word, found, times in terms_of(view, query):
        mass += value if is_word else 0.0
        owners = owner[found]
        message[np.unique(owners[kinds[found] == MESSAGE])] += value
        # Words that are moved or kept in a changed line are not added.
        net = np.bincount(owners, weights=sign[found] * times, minlength=view.commits)
        gains = found[added[found] & (net[owners] > 0)]
        row[found[added[found]]] += value
        evident[owner[gains]] = True
        if is_word:
            first = gains[begins(owner[gains])] if len(gains) else gains
            users = dict.fromkeys(int(owner[one]) for one in first[:_CLOSE_LOOK] if counts(int(one)))
            for user, share in zip(users, _FIRST_USERS, strict=False):
                early[user] += value * share
    if not mass:
        return Introductions(np.zeros(0, np.int64), False)
    meaning = agreement(view, query)
    of_message = _MESSAGE * message + _EARLY * early
    of_message = of_message / mass + _MEANING_OF_MESSAGE * _best(view, meaning * (kinds == MESSAGE))
    of_row = _ROW * _best(view, row) / mass + _MEANING_OF_ROW * _best(view, meaning * added)
    likely = np.where(commits & evident, of_message + of_row, 0.0)
    chosen = np.sort(np.argsort(-likely, kind="stable")[:_CLOSE_LOOK])
    score = np.zeros(view.commits)
    for commit in chosen[likely[chosen] > 0].tolist():
        own = np.arange(*np.searchsorted(owner, (commit, commit + 1)))
        own_rows = own[[bool(added[one]) and counts(int(one)) for one in own.tolist()]]
        share = float(row[own_rows].max(initial=0.0)) / mass
        near = float(meaning[own_rows].max(initial=0.0))
        total = float(of_message[commit]) + _ROW * share + _MEANING_OF_ROW * near
        subject = subject_of(commit)
        says = bool(_ADDS.search(subject)) - bool(_DOES_NOT.match(subject))
        score[commit] = total * (1.0 if len(own_rows) else _ONLY_TESTS) * (1.0 + _SUBJECT * says)
    best = float(score.max(initial=0.0))
    near_best = np.flatnonzero(score >= _NEAR_BEST * best) if best else np.zeros(0, np.int64)
    others = np.argsort(-score, kind="stable")[: int((score > 0).sum())]
    order = [*near_best.tolist(), *(one for one in others.tolist() if one not in set(near_best.tolist()))]
    return Introductions(np.array(order, dtype=np.int64), best >= _SURE and len(near_best) <= _FEW)


def _best(view: View, values: Floats) -> Floats:
    """Return the largest value of the rows of each commit, (commits,)."""
    best = np.zeros(view.commits)
    own = np.flatnonzero(values)
    np.maximum.at(best, view.commit_of_row[own], values[own])
    return best


def _counts(view: View, known: dict[bytes, bool], row: int) -> bool:
    """Return True if a row is in no test, example or vendored file; `known` caches the paths."""
    place = int(view.places_of_rows[row])
    if place < 0:
        return False
    path = view.path(place)
    if path not in known:
        known[path] = not paths.flags(path, language_of(path)) & _ASIDE
    return known[path]
