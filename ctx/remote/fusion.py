"""Two rankings of one tree made into one: that of the words and names, and that of a remote model's vectors.

Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): a chunk gets 1 / (60 + its place) from each
list it is in. A chunk that is in one list alone gets a share of what its file got from the other: both say
which file, and often not which chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.embed.precision import BIT, nearest, similarities
from ctx.rank.corpus import Corpus
from ctx.rank.ranker import Ranked
from ctx.views.vectors import Rows, VectorFiles
from ctx.views.view import NO_SEGMENT, View

_K = 60
_FILE_SHARE = 0.5
_BITS_MORE = 4
"""So many times more candidates are taken where bits alone choose them, since they choose roughly."""


class Near(NamedTuple):
    """A chunk that lies near the query: its row in the corpus, its file, the similarity in -1..1."""

    row: int
    file: int
    similarity: float


def near_rows(
    corpus: Corpus,
    files: VectorFiles,
    where: Sequence[Rows],
    query: npt.NDArray[np.float32],
    precision: str,
    allowed: npt.NDArray[np.bool_] | None,
    count: int,
) -> list[Near]:
    """The chunks of a view that lie nearest to a query, best first; `where` has the vectors of its clusters.

    Of a blob at several paths the path that lies nearest stands for it.
    """
    view = corpus.view
    file_of, chunk_of = _places(view, corpus)
    starts = _cluster_rows(view, corpus)
    best: dict[int, Near] = {}
    for number in sorted({rows.file for rows in where}):
        parts = [
            (rows.start, rows.end, start)
            for rows, start in zip(where, starts.tolist(), strict=True)
            if rows.file == number and rows.end > rows.start
        ]
        if not parts:
            continue
        stored = np.concatenate([np.arange(start, end) for start, end, _ in parts])
        placed = np.concatenate([np.arange(at, at + end - start) for start, end, at in parts])
        if allowed is not None:
            open_ = allowed[file_of[placed]]
            stored, placed = stored[open_], placed[open_]
        vectors = files.vectors(number)
        vectors = vectors if len(stored) == len(vectors) else vectors[stored]
        chosen = nearest(vectors, query, precision, _BITS_MORE * count if precision == BIT else count)
        values = similarities(vectors[chosen], query, precision)
        for at, value in zip(placed[chosen].tolist(), values.tolist(), strict=True):
            row, file = int(chunk_of[at]), int(file_of[at])
            if row not in best or (-value, view.path(file)) < (
                -best[row].similarity,
                view.path(best[row].file),
            ):
                best[row] = Near(row, file, float(value))
    ranked = sorted(best.values(), key=lambda one: (-one.similarity, view.path(one.file), one.row))
    return ranked[:count]


def fuse(corpus: Corpus, lists: Sequence[Sequence[tuple[int, int]]], limit: int) -> list[Ranked]:
    """One ranking of several, each of (row, file), best first; scores in 0..1 order this answer alone."""
    scores: dict[int, float] = {}
    file_of: dict[int, int] = {}
    for ranking in lists:
        best_of_file: dict[int, float] = {}
        worth = {}
        for place, (row, file) in enumerate(ranking):
            worth[row] = 1.0 / (_K + 1 + place)
            best_of_file.setdefault(file, worth[row])
            file_of.setdefault(row, file)
        for other in lists:
            for row, file in other:
                if row not in worth and file in best_of_file:
                    worth[row] = _FILE_SHARE * best_of_file[file]
        for row, value in worth.items():
            scores[row] = scores.get(row, 0.0) + value
    most = len(lists) / (_K + 1)
    found = [Ranked(row, file_of[row], round(score / most, 6), 0.0) for row, score in scores.items()]
    found.sort(key=lambda one: (-one.score, corpus.view.path(one.file), one.row))
    return found[:limit]


def _places(view: View, corpus: Corpus) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """For each chunk of each file of a view, in order: its file, and its row in the corpus."""
    files = np.flatnonzero(view.file_segment != NO_SEGMENT)
    documents = corpus.file_document[files]
    counts = corpus.document_rows[documents]
    file_of = np.repeat(files, counts)
    first = np.cumsum(counts) - counts
    chunk = np.arange(int(counts.sum())) - np.repeat(first, counts)
    return file_of, np.repeat(corpus.document_start[documents], counts) + chunk


def _cluster_rows(view: View, corpus: Corpus) -> npt.NDArray[np.int64]:
    """Where in that order each cluster of a view begins."""
    counts = np.zeros(view.files + 1, dtype=np.int64)
    live = np.flatnonzero(view.file_segment != NO_SEGMENT)
    counts[live + 1] = corpus.document_rows[corpus.file_document[live]]
    until = np.cumsum(counts)
    ends = view.cluster_end.astype(np.int64)
    starts: npt.NDArray[np.int64] = until[np.concatenate([[0], ends[:-1]])] if len(ends) else until[:0]
    return starts


def live_rows(view: View, corpus: Corpus) -> npt.NDArray[np.int64]:
    """How many chunks each cluster of a view has, to compare with what is stored of it."""
    file_of, _ = _places(view, corpus)
    cluster = np.searchsorted(view.cluster_end, file_of, side="right")
    return np.bincount(cluster, minlength=len(view.cluster_end))
