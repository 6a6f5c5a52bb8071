"""Fusion of two rankings: by words and names, and by the vectors of a model service.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): a chunk gets 1 / (60 + its rank) from each list
it is in. A chunk in only one list gets a share of its file's score from the other: both lists identify the
file, but often not the chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ctx.ranking.corpus import Corpus
from ctx.ranking.ranker import RankedRow
from ctx.types import Hit, by_score

_K = 60
_FILE_SHARE = 0.5

Item = TypeVar("Item", bound=Hashable)


def fuse(corpus: Corpus, lists: Sequence[Sequence[tuple[int, int]]], limit: int) -> list[RankedRow]:
    """Fuse lists of (row, file), best first; scores in 0..1 compare only within this answer."""
    file_of: dict[int, int] = {}
    for ranking in lists:
        for row, file in ranking:
            file_of.setdefault(row, file)
    rows = [[row for row, _ in ranking] for ranking in lists]
    scores = _scores(rows, file_of.__getitem__)
    found = [RankedRow(row, file_of[row], score, 0.0) for row, score in scores.items()]
    found.sort(key=lambda one: (-one.score, corpus.view.path(one.file), one.row))
    return found[:limit]


def fuse_hits(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Fuse lists of hits, which may be of two trees; each with the score of the fused order."""
    return _fused(lists, lambda hit: (hit.change and hit.change.side, hit.path))


def merge_hits(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Merge the answers to several queries by reciprocal ranks alone, each with the score of this order."""
    return _fused(lists, identity_of)


def identity_of(hit: Hit) -> tuple[Any, ...]:
    """Return the identity of a hit within its answer: the tree, the blob, the position in it."""
    return hit.change and hit.change.side, hit.blob, hit.position.start


def _fused(lists: Sequence[Sequence[Hit]], file_of: Callable[[Hit], Hashable]) -> list[Hit]:
    hits: dict[tuple[Any, ...], Hit] = {}
    for ranking in lists:
        for hit in ranking:
            hits.setdefault(identity_of(hit), hit)
    identities = [[identity_of(hit) for hit in ranking] for ranking in lists]
    scores = _scores(identities, lambda identity: file_of(hits[identity]))
    return sorted((replace(hits[one], score=score) for one, score in scores.items()), key=by_score)


def _scores(lists: Sequence[Sequence[Item]], file_of: Callable[[Item], Hashable]) -> dict[Item, float]:
    scores: dict[Item, float] = {}
    for ranking in lists:
        best_of_file: dict[Hashable, float] = {}
        worth: dict[Item, float] = {}
        for place, item in enumerate(ranking):
            worth[item] = 1.0 / (_K + 1 + place)
            best_of_file.setdefault(file_of(item), worth[item])
        for other in lists:
            for item in other:
                if item not in worth and file_of(item) in best_of_file:
                    worth[item] = _FILE_SHARE * best_of_file[file_of(item)]
        for item, value in worth.items():
            scores[item] = scores.get(item, 0.0) + value
    most = len(lists) / (_K + 1)
    return {item: round(score / most, 6) for item, score in scores.items()}
