"""Commits that match a question and changed a file, if the history has been indexed.

This module never indexes anything and has no effect on the ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ctx.errors import Damaged
from ctx.git.commits import edges
from ctx.history.ranking import rank
from ctx.history.view import Views, view_name

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_MOST = 2
"""Maximum number of commits reported per file."""
_NEAR_BEST = 0.5
"""Minimum score of a commit, as a fraction of the best commit's score."""

CommitEvidence = Mapping[bytes, Sequence[Mapping[str, Any]]]
"""Evidence of commits by path, best first."""


def matching_commits(
    session: SearchSession, commit: str | None, text: str, paths: Sequence[bytes]
) -> CommitEvidence:
    """Return the commits reachable from `commit` that match a text, grouped by changed path."""
    view = None
    if commit is not None:
        tip = bytes.fromhex(commit)
        view = Views(session.store).find(view_name(tip, edges(session.repository)), tip)
    if view is None or not view.commits:
        return {}
    scores = rank(view, text).commit
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
        path: [_evidence(session, view.commit_id(one), float(scores[one])) for one in own]
        for path, own in found.items()
    }


def _evidence(session: SearchSession, commit: bytes, score: float) -> dict[str, Any]:
    subject, time = "", 0
    try:
        info = session.repository.commit_info(commit)
        subject, time = info.subject, info.committer_time
    except (KeyError, Damaged):
        pass  # the commit was removed; its id is still reported
    return {
        "kind": "history",
        "commit": commit.hex(),
        "subject": subject,
        "time": time,
        "score": round(score, 4),
    }
