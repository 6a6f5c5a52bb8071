"""References between files: files are identified by name, and frequently mentioned files rank higher."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ctx.ranking.corpus import Corpus
from ctx.ranking.path_words import PathWords
from ctx.ranking.signals import idf
from ctx.storage.arrays import Floats, Ints

_UNIT = float(1 << 20)
_SHARPNESS = 4
"""Exponent for the share of the best value: poor candidates should not count as references."""


def references(
    corpus: Corpus, documents: Ints, known: Sequence[PathWords], value: Floats
) -> dict[str, Floats]:
    """Return features (n,) of candidates with these names; `value` (n,) is the score of each for the query.

    A name counts more if fewer documents contain it.
    """
    named_in = _documents(corpus, known)
    by_name = [named_in[one.name] for one in known]
    counts = np.array([len(one) for one in by_name])
    weight = weights(value)
    most = idf(corpus.live_document_count, np.ones(1, dtype=np.int64))[0]
    special = exact(idf(corpus.live_document_count, counts) / most)
    number = np.full(corpus.documents, -1, dtype=np.int64)
    number[documents] = np.arange(len(documents))
    source = number[np.concatenate(by_name)]
    target = np.repeat(np.arange(len(known)), counts)
    among = ((source >= 0) & (source != target)).nonzero()[0]
    source, target = source[among], target[among]
    total = max(1e-9, float(weight.sum()))
    return {
        "mentions": counts.astype(np.float64),
        "mention_share": counts / max(1, corpus.live_document_count),
        "named_by_others": special * np.bincount(target, weight[source], len(known)) / total,
        "names_others": np.bincount(source, (special * weight)[target], len(known)) / total,
    }


def weights(value: Floats) -> Floats:
    """Return the weight of each candidate as a reference, in 0..1, from its score for the query."""
    return exact((value / max(1e-9, float(value.max(initial=0.0)))) ** _SHARPNESS)


def exact(values: Floats) -> Floats:
    """Round the values, so that sums do not depend on the order of candidates."""
    rounded: Floats = np.rint(values * _UNIT) / _UNIT
    return rounded


def _documents(corpus: Corpus, known: Sequence[PathWords]) -> dict[int, npt.NDArray[np.int32]]:
    """Return the documents of the tree that contain each name."""
    kept = corpus.mentions
    new = np.array(sorted({one.name for one in known} - kept.keys()), dtype=np.int64)
    if len(new):
        term, owner = corpus.find_documents(new)
        by_name = np.split(owner, np.searchsorted(term, np.arange(1, len(new))))
        kept.update(zip(new.tolist(), by_name, strict=True))
    return kept
