"""Features of each candidate file for the learned ranker.

Every feature is a function of the tree searched, the query and the other candidates. None says that a file is
a test, an example, generated or documentation, and none is its size: commits touch tests and large files far
more often than people look for them, and a ranker trained on commits would learn just that.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctx.models.static_embedding import static_embedding
from ctx.ranking.candidates import Candidates, CombinedFields
from ctx.ranking.corpus import Corpus
from ctx.ranking.path_words import Joined, PathWords, join, read_paths
from ctx.ranking.query import Query
from ctx.ranking.references import references
from ctx.ranking.signals import Signals
from ctx.ranking.spread import in_folder, spread
from ctx.storage.arrays import Floats, Ints
from ctx.storage.records import KIND
from ctx.types import KINDS

_TYPES = {"class", "interface", "struct", "enum", "trait", "object", "module", "type"}
_NAMELESS = {"block", "imports", "section", "entry"}
IS_TYPE = np.array([1.0 if kind in _TYPES else 0.8 for kind in KINDS])
"""Weight of each kind as a type: a name more likely means the type than a function of the same name."""
IS_DEFINITION = np.array([0.0 if kind in _NAMELESS else 1.0 for kind in KINDS])
"""1 for the kinds of rows that define a name, else 0."""

COMPARED = {
    "three_rows": "words",
    "best_row": "words",
    "whole_file": "words",
    "coverage": "words",
    "best_coverage": "words",
    "names": "names",
    "best_names": "names",
    "whole_name": "names",
    "path": "path",
    "united_row": "words",
    "united_three": "words",
    "defined_row": "names",
    "united_coverage": "words",
    "any_coverage": "words",
    "missing": "words",
    "three_vectors": "vectors",
    "best_vector": "vectors",
    "mean_vector": "vectors",
    "path_vector": "vectors",
    "query_in_path": "path",
    "name_in_query": "path",
}
"""Kind of evidence of the features that are also given as a share of the best candidate's value."""
SINGLE = {
    "defines": "names",
    "named_share": "names",
    "stem_named": "path",
    "path_named": "path",
    "name_words": "path",
    "path_words": "path",
    "mentions": "references",
    "mention_share": "references",
    "named_by_others": "references",
    "names_others": "references",
    "match_share": "words",
    "half_share": "words",
    "best_is_type": "place in the file",
    "best_is_definition": "place in the file",
    "best_place": "place in the file",
    "first_row": "place in the file",
    "pair_row": "words",
    "pairs": "words",
    "flat": "words",
    "peaks": "words",
    "second_coverage": "words",
    "named_coverage": "names",
    "known_coverage": "names",
    "lead": "words",
    "folder_rank": "folder",
    "name_rank": "folder",
    "folder_share": "folder",
    "folder_mean": "folder",
    "language_share": "folder",
    "is_question": "query",
    "has_names": "query",
    "query_tokens": "query",
    "query_words": "query",
    "query_idf": "query",
    "query_rarest": "query",
    "is_symbol": "query",
}
"""Kind of evidence of the other features."""
GROUPS = COMPARED | {f"{name}/best": group for name, group in COMPARED.items()} | SINGLE
"""Kind of evidence of each feature."""
FEATURES = tuple(GROUPS)


def file_features(
    corpus: Corpus, query: Query, signals: Signals, candidates: Candidates, fields: CombinedFields
) -> npt.NDArray[np.float32]:
    """Return the features of each candidate, (n, FEATURES), from the result of `read_candidates`."""
    documents, files, every = candidates.documents, candidates.files, candidates.groups
    groups = fields.groups
    rows, similar = groups.rows, candidates.similar
    words, names = signals.row_words[rows], signals.row_names[rows]
    possible = max(1e-9, float(signals.word_idf.sum()))
    defines = every.total(IS_DEFINITION.take(candidates.kinds))
    named = groups.total((names > 0).astype(np.float64))
    three = groups.best_three(fields.text)
    anywhere = (fields.peaks > 0) | fields.in_path
    known = _paths(corpus, files)
    words_of_paths = join(known)
    query_in_path, name_in_query = _soft_matches(query, signals, words_of_paths)
    stem_named, path_named = _named(query, words_of_paths)
    kinds = corpus.kinds[rows] & KIND
    is_type = IS_TYPE.take(kinds)
    of_rows = {
        "best_row": words,
        "best_coverage": signals.row_coverage[rows],
        "best_names": names,
        "whole_name": signals.row_whole[rows],
        "united_row": fields.text,
        "defined_row": fields.defined,
        "united_coverage": fields.coverage,
    }
    found = dict(zip(of_rows, groups.best(np.array(list(of_rows.values()))) / possible, strict=True))
    found |= {
        "three_rows": groups.best_three(words) / possible,
        "whole_file": signals.document_words[documents] / possible,
        "coverage": signals.document_coverage[documents] / possible,
        "names": signals.document_names[documents] / possible,
        "path": signals.file_path[files] / possible,
        "united_three": three / possible,
        "any_coverage": signals.word_idf @ anywhere / possible,
        "missing": (signals.word_idf[:, None] * ~anywhere).max(axis=0, initial=0.0) / possible,
        "three_vectors": every.best_three(similar + 1.0),
        "best_vector": every.best(similar),
        "mean_vector": every.total(similar) / every.counts,
        "path_vector": query.cosines(corpus.view.path_vectors[files]),
        "query_in_path": query_in_path,
        "name_in_query": name_in_query,
        "defines": groups.best(signals.row_defines[rows] * is_type),
        "named_share": named / np.maximum(defines, 1.0),
        "stem_named": stem_named,
        "path_named": path_named,
        "name_words": words_of_paths.in_name,
        "path_words": words_of_paths.counts,
        "query_words": len(query.words),
        "query_idf": possible,
        "query_rarest": signals.word_idf.max(initial=0.0),
        "is_symbol": query.is_symbol,
        "is_question": query.is_question,
        "has_names": bool(query.names),
        "query_tokens": query.tokens,
        "language_share": corpus.language_share[documents],
    }
    found |= references(corpus, documents, known, found["united_three"])
    found |= spread(
        signals, query, fields, every.counts, three, (is_type == 1.0) * 1.0, IS_DEFINITION.take(kinds)
    )
    found |= in_folder(known, found["united_three"])
    table = np.empty((len(FEATURES), len(documents)), dtype=np.float32)
    compared = np.array([found[name] for name in COMPARED])
    n = len(COMPARED)
    table[:n] = compared
    best = np.maximum(compared.max(axis=1, keepdims=True), 1e-9)
    table[n : 2 * n] = compared / best
    for place, name in enumerate(SINGLE, 2 * n):
        table[place] = found[name]
    return table.T


def _paths(corpus: Corpus, files: Ints) -> list[PathWords]:
    known = corpus.path_words
    numbers = files.tolist()
    new = [file for file in numbers if file not in known]
    if new:
        known.update(zip(new, read_paths([corpus.view.path(file) for file in new]), strict=True))
    return [known[file] for file in numbers]


def _soft_matches(query: Query, signals: Signals, words: Joined) -> tuple[Floats, Floats]:
    """Return how well paths match the query's words, and file names are matched by the query, in 0..1."""
    if not len(query.words):
        return np.zeros(len(words.start)), np.zeros(len(words.start))
    weights = signals.word_idf[query.words]
    table = static_embedding()
    asked = np.array([table.row(query.terms[word].word) for word in query.words], dtype=np.int64)
    cosines = np.maximum(table.unit_vectors(asked) @ table.unit_vectors(words.rows).T, 0.0)
    best = np.maximum.reduceat(cosines, words.start, axis=1)
    query_in_path = (weights[:, None] * best).sum(axis=0) / max(1e-9, float(weights.sum()))
    of_name = cosines.max(axis=0) * words.of_name
    return query_in_path, np.add.reduceat(of_name, words.start) / np.maximum(words.in_name, 1)


def _named(query: Query, words: Joined) -> tuple[Floats, Floats]:
    """Return the share of the words of each file's name, and of its path, that the query has exactly."""
    equal = (query.hashes[:, None] == words.terms).any(axis=0)
    of_path, of_name = (
        np.add.reduceat(some, words.start, dtype=np.int64) for some in (equal, equal & words.of_name)
    )
    return of_name / np.maximum(words.in_name, 1), of_path / words.counts
