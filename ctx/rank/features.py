"""What is known of each candidate file, as numbers for the learned ranker.

Every feature is a function of the tree searched, the query and the other candidates. None says that a file is
a test, an example, generated or documentation: that is left to the priors, because people who search want
such files less often than the commits that the ranker learned from touch them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctx.embed.wordtable import word_table
from ctx.rank.corpus import Corpus
from ctx.rank.evidence import Evidence, Floats
from ctx.rank.groups import Groups
from ctx.rank.path_words import PathWords, read_paths
from ctx.rank.query import Query
from ctx.records import TEST
from ctx.values import KINDS

_TYPES = {"class", "interface", "struct", "enum", "trait", "object", "module", "type"}
_NAMELESS = {"block", "imports", "section", "entry"}
IS_TYPE = np.array([1.0 if kind in _TYPES else 0.8 for kind in KINDS])
"""A name is more likely to be meant as the type than as one of the functions called the same."""
_DEFINES = np.array([0.0 if kind in _NAMELESS else 1.0 for kind in KINDS])
_UNIT = 4096.0
_SIGNS = 2 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.int64) - 1

COMPARED = (
    "three_rows",
    "best_row",
    "whole_file",
    "coverage",
    "best_coverage",
    "names",
    "best_names",
    "whole_name",
    "first_row",
    "type_rows",
    "path",
    "three_vectors",
    "best_vector",
    "mean_vector",
    "path_vector",
    "query_in_path",
    "name_in_query",
)
"""Features that are also given as a share of the best candidate's value."""
SINGLE = (
    "defines",
    "in_folder",
    "folder",
    "defining_rows",
    "named_share",
    "named_rows",
    "stem_named",
    "path_named",
    "name_words",
    "path_words",
    "mentions",
    "mention_share",
    "length",
    "rows",
    "matching_rows",
    "query_words",
    "query_idf",
    "query_rarest",
    "is_symbol",
)
FEATURES = (*COMPARED, *(f"{name}/best" for name in COMPARED), *SINGLE)


def file_features(
    corpus: Corpus,
    query: Query,
    evidence: Evidence,
    documents: npt.NDArray[np.int64],
    files: npt.NDArray[np.int64],
) -> npt.NDArray[np.float32]:
    """One row for each candidate, (n, FEATURES). `files` are the files that stand for the documents."""
    groups = Groups.of(corpus, documents)
    rows = groups.rows
    words, names = evidence.row_words[rows], evidence.row_names[rows]
    kinds = corpus.kinds[rows] & (TEST - 1)
    possible = max(1e-9, float(evidence.word_idf.sum()))
    similar = _similarity(corpus.bits[rows].view(np.uint8), query)
    defines = groups.total(_DEFINES[kinds])
    named = groups.total((names > 0).astype(np.float64))
    known = _paths(corpus, files)
    query_in_path, name_in_query = _soft_matches(query, evidence, known)
    stem_named, path_named = _named(query, known)
    mentions = _mentions(corpus, files, known)
    found = {
        "three_rows": groups.best_three(words) / possible,
        "best_row": groups.best(words) / possible,
        "whole_file": evidence.document_words[documents] / possible,
        "coverage": evidence.document_coverage[documents] / possible,
        "best_coverage": groups.best(evidence.row_coverage[rows]) / possible,
        "names": evidence.document_names[documents] / possible,
        "best_names": groups.best(names) / possible,
        "whole_name": groups.best(evidence.row_whole[rows]) / possible,
        "first_row": words[groups.start] / possible,
        "type_rows": groups.best(words * (IS_TYPE[kinds] == 1.0)) / possible,
        "path": evidence.file_path[files] / possible,
        "three_vectors": groups.best_three(similar + 1.0),
        "best_vector": groups.best(similar),
        "mean_vector": groups.total(similar) / groups.counts,
        "path_vector": _similarity(corpus.view.path_vectors[files], query),
        "query_in_path": query_in_path,
        "name_in_query": name_in_query,
        "defines": groups.best(evidence.row_defines[rows] * IS_TYPE[kinds]),
        "defining_rows": defines,
        "named_share": named / np.maximum(defines, 1.0),
        "named_rows": named,
        "stem_named": stem_named,
        "path_named": path_named,
        "name_words": np.array([one.in_name for one in known], dtype=np.float64),
        "path_words": np.array([len(one.rows) for one in known], dtype=np.float64),
        "mentions": mentions,
        "mention_share": mentions / max(1, corpus.live_document_count),
        "length": corpus.document_length[documents],
        "rows": groups.counts,
        "matching_rows": groups.total((words > 0).astype(np.float64)),
        "query_words": len(query.words),
        "query_idf": possible,
        "query_rarest": evidence.word_idf.max(initial=0.0),
        "is_symbol": query.is_symbol,
    }
    found["in_folder"], found["folder"] = _in_folder(found["three_rows"], known)
    table = np.empty((len(FEATURES), len(documents)), dtype=np.float32)
    compared = np.array([found[name] for name in COMPARED])
    n = len(COMPARED)
    table[:n] = compared
    best = np.maximum(compared.max(axis=1, keepdims=True), 1e-9)
    table[n : 2 * n] = compared / best
    for place, name in enumerate(SINGLE, 2 * n):
        table[place] = found[name]
    return table.T


def _similarity(octets: npt.NDArray[np.uint8], query: Query) -> Floats:
    """The cosine of vectors of signs (n, dimensions / 8) with the query, in -1..1."""
    # Whole numbers, so that every order of addition gives the same; by octets, so that no bit is unpacked.
    whole = np.rint(query.vector.astype(np.float64) * _UNIT).astype(np.int64).reshape(-1, 8)
    table = ((_SIGNS[None] * whole[:, None]).sum(axis=2)).astype(np.int32)
    summed = np.zeros(len(octets), dtype=np.int32)
    for place, values in enumerate(table):
        summed += values[octets[:, place]]
    cosine: Floats = summed / (_UNIT * np.sqrt(8.0 * octets.shape[1]))
    return cosine


def _paths(corpus: Corpus, files: npt.NDArray[np.int64]) -> list[PathWords]:
    known = corpus.path_words
    numbers = files.tolist()
    new = [file for file in numbers if file not in known]
    if new:
        known.update(zip(new, read_paths([corpus.view.path(file) for file in new]), strict=True))
    return [known[file] for file in numbers]


def _soft_matches(query: Query, evidence: Evidence, known: list[PathWords]) -> tuple[Floats, Floats]:
    """How well the path has the query's words, and the query those of the file's name, in 0..1."""
    weights = evidence.word_idf[query.words]
    counts = np.array([len(one.rows) for one in known])
    if not len(query.words) or not counts.all():
        return np.zeros(len(known)), np.zeros(len(known))
    table = word_table()
    rows, place = np.unique(np.concatenate([one.rows for one in known]), return_inverse=True)
    asked = np.array([table.row(query.terms[word].word) for word in query.words], dtype=np.int64)
    cosines = np.maximum(_unit(table.word_vectors(asked)) @ _unit(table.word_vectors(rows)).T, 0.0)
    start = np.cumsum(counts) - counts
    best = np.maximum.reduceat(cosines[:, place], start, axis=1)
    query_in_path = (weights[:, None] * best).sum(axis=0) / max(1e-9, float(weights.sum()))
    of_name = cosines.max(axis=0)[place]
    in_name = np.array([one.in_name for one in known])
    from_end = np.repeat(start + counts, counts) - np.arange(len(place))
    of_name[from_end > np.repeat(in_name, counts)] = 0.0
    return query_in_path, np.add.reduceat(of_name, start) / np.maximum(in_name, 1)


def _unit(vectors: Floats) -> Floats:
    """Rounded, so that sums of products are exact."""
    length = np.sqrt(np.square(vectors).sum(axis=1, keepdims=True))
    rounded: Floats = np.rint(vectors / np.maximum(length, 1.0) * _UNIT) / _UNIT
    return rounded


def _named(query: Query, known: list[PathWords]) -> tuple[Floats, Floats]:
    """The share of the words of each file's name, and of its path, that the query has to the letter."""
    counts = np.array([len(one.terms) for one in known])
    if not counts.all():
        return np.zeros(len(known)), np.zeros(len(known))
    start = np.cumsum(counts) - counts
    equal = np.isin(np.concatenate([one.terms for one in known]), query.hashes).astype(np.float64)
    of_path = np.add.reduceat(equal, start) / counts
    in_name = np.array([one.in_name for one in known])
    from_end = np.repeat(start + counts, counts) - np.arange(len(equal))
    equal[from_end > np.repeat(in_name, counts)] = 0.0
    return np.add.reduceat(equal, start) / np.maximum(in_name, 1), of_path


def _in_folder(values: Floats, known: list[PathWords]) -> tuple[Floats, Floats]:
    """Each file's share of the best value in its folder, and the sum of the three best values there."""
    folder = np.array([one.folder for one in known], dtype=np.int64)
    order = np.lexsort((-values, folder))
    first = np.flatnonzero(np.diff(folder[order], prepend=-1))
    counts = np.diff(first, append=len(order))
    ordinal = np.arange(len(order)) - np.repeat(first, counts)
    best = np.repeat(values[order[first]], counts)
    three = np.repeat(np.add.reduceat(np.where(ordinal < 3, values[order], 0.0), first), counts)
    share, total = np.empty(len(values)), np.empty(len(values))
    share[order] = values[order] / np.maximum(best, 1e-9)
    total[order] = three
    return share, total


def _mentions(corpus: Corpus, files: npt.NDArray[np.int64], known: list[PathWords]) -> npt.NDArray[np.int64]:
    """In how many documents of the tree each file's name stands as a word."""
    new = np.flatnonzero(corpus.mentions[files] < 0)
    if len(new):
        names, place = np.unique([known[at].name for at in new.tolist()], return_inverse=True)
        found = corpus.find(names)
        owner = corpus.document_of[found.row]
        first = (np.diff(owner, prepend=np.int32(-1)) != 0) | (np.diff(found.term, prepend=-1) != 0)
        corpus.mentions[files[new]] = np.bincount(found.term[first], minlength=len(names))[place]
    return corpus.mentions[files]
