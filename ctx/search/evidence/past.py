"""Which commits answer a question and changed a file, where somebody has had the history indexed.

Nothing is indexed for it, and no ranking knows of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ctx.errors import Damaged
from ctx.git.commits import edges
from ctx.history.ranking import rank
from ctx.history.view import Views, view_name
from ctx.models.static_embedding import word_table

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex

_MOST = 2
"""Commits that are told of a file."""
_NEAR_BEST = 0.5
"""The part of the best commit's score that one has at least."""

Past = Mapping[bytes, Sequence[Mapping[str, Any]]]
"""For each path the commits, the best first, as evidence."""


def past_of(index: OpenIndex, commit: bytes | None, text: str, paths: Sequence[bytes]) -> Past:
    """The commits up to one that answer a text, by the files that they changed among some."""
    view = None
    if commit is not None:
        view = Views(index.store).find(view_name(commit, edges(index.repository)), commit)
    if view is None or not view.commits:
        return {}
    scores = rank(view, text, word_table()).commit
    least = _NEAR_BEST * float(scores.max())
    near = np.flatnonzero((scores >= least) & (scores > 0))
    touched = view.commit_of_path()
    places = np.flatnonzero(np.isin(touched, near))
    wanted = set(paths)
    found: dict[bytes, list[int]] = {}
    for place in places[np.lexsort((-touched[places], -scores[touched[places]]))].tolist():
        path = view.path(place)
        if path in wanted and len(found.setdefault(path, [])) < _MOST:
            found[path].append(int(touched[place]))
    return {
        path: [_said(index, view.commit_id(one), float(scores[one])) for one in own]
        for path, own in found.items()
    }


def _said(index: OpenIndex, commit: bytes, score: float) -> dict[str, Any]:
    subject, time = "", 0
    try:
        info = index.repository.commit_info(commit)
        subject, time = info.subject, info.committer_time
    except (KeyError, Damaged):
        pass  # lost since; its id still says which one it was
    return {
        "kind": "history",
        "commit": commit.hex(),
        "subject": subject,
        "time": time,
        "score": round(score, 4),
    }
