"""Evidence for one file, and the excerpts to read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ctx.models.logistic import logistic
from ctx.ranking.explain import CORRECTION
from ctx.ranking.query import words_that_ask
from ctx.ranking.query_terms import LEAST_SIMILAR, LITERAL, STEM, SYNONYM, SimilarWord, cosines, indexed_form
from ctx.search.dependencies.types import Edge
from ctx.search.evidence.file_ranking import FileRanking
from ctx.search.evidence.lexical import MOST_LINES, TermMatch, find_terms, lines_of_words, origin_in
from ctx.search.evidence.reasons import reasons
from ctx.search.evidence.types import Excerpt, FileHit, Symbol
from ctx.storage.records import Record
from ctx.storage.views import paths as path_flags
from ctx.text.query import IDENTIFIER, TRANSLATION, Term, tokens, words_of
from ctx.text.terms import term_hash

_ROWS = 3
"""Number of chunks of a file that are read for evidence and shown as excerpts."""
_MOST_SYMBOLS = 20
_MOST_EDGES, _MOST_EDGE_SYMBOLS = 8, 4
_MOST_NEAR = 3


def file_hit(
    ranking: FileRanking,
    file: int,
    best_score: float,
    edges: Sequence[Edge] = (),
    budget: int | None = None,
    past: Sequence[Mapping[str, Any]] = (),
) -> FileHit:
    """Return the hit of a file with its evidence, symbols and excerpts.

    `edges` connect the file to other results; `past` is evidence from its history. `budget` is the maximum
    number of characters in the excerpts; None omits excerpts. Raises `Damaged`.
    """
    ranked = ranking.by_file.get(file, [])
    record = ranking.record(file)
    rows = [one.hit.row for one in ranked][:_ROWS] or _best_rows(ranking, file)
    chunks = [ranking.corpus.chunk(row) for row in rows]
    positions = [record.positions[chunk] for chunk in chunks]
    texts = [ranking.text_of(file, position.start, position.end) for position in positions]
    known = [
        (position.start_line, text)
        for position, text in zip(positions, texts, strict=True)
        if text is not None
    ]
    weighted = [
        term for term, weight in zip(ranking.query.terms, ranking.query.weights, strict=True) if weight > 0
    ]
    lexical = find_terms(weighted, known) if known else _by_index(ranking, weighted, rows)
    parts = dict(ranked[0].parts) if ranked else {}
    agreements = [one.hit.agreement for one in ranked] or ranking.signals.row_agreement[rows].tolist()
    agreement = max(agreements, default=0.0)
    flags = int(ranking.corpus.view.file_flags[file])
    is_test = bool(flags & path_flags.TEST) or all(record.tests[chunk] for chunk in chunks)
    evidence: list[Mapping[str, Any]] = [_lexical(found) for found in lexical]
    evidence += _near_words(ranking, {one.term.hash for one in lexical}, known)
    evidence += _symbols(ranking, record, chunks, weighted)
    evidence += _path(ranking, file, weighted)
    if agreement:
        evidence.append({"kind": "vector", "agreement": round(agreement, 4)})
    evidence += _dependencies(edges)
    asked = bool(ranking.query.requested & path_flags.TEST)
    if is_test or asked:
        evidence.append(
            {
                "kind": "test_intent",
                "asked": asked,
                "isTest": is_test,
                "matchedConcepts": words_that_ask(ranking.text, path_flags.TEST) if asked else [],
            }
        )
    if CORRECTION in parts:
        evidence.append(
            {"kind": "history", "rankedWith": ranking.ranked_with, "value": round(parts[CORRECTION], 6)}
        )
    evidence += past
    excerpts, left_out = _excerpts(record, chunks, texts, budget)
    blob, language = ranking.key(file)
    return FileHit(
        path=os.fsdecode(ranking.corpus.view.path(file)),
        language=language or None,
        blob=blob.hex(),
        is_test=is_test,
        score=round(logistic(ranked[0].margin) / best_score, 6) if ranked and best_score else 0.0,
        margin=ranked[0].margin if ranked else 0.0,
        contributions=parts,
        reasons=reasons(ranking.corpus.view.path(file), evidence, parts),
        evidence=tuple(evidence),
        symbols=_listed(record, chunks),
        excerpts=excerpts,
        left_out=left_out,
    )


def similar_words_of(hits: Iterable[FileHit]) -> Iterator[SimilarWord]:
    """Yield the words of some files that are near words of the question, as their evidence has them."""
    for hit in hits:
        for one in hit.evidence:
            if one.get("origin") == SYNONYM:
                found = one["found"] if one["kind"] == "path" else one["found"][0]
                yield found, one["source"], one["similarity"]


def best_score(ranking: FileRanking) -> float:
    """Return the score of the best file, in 0..1; 0 if there are no results."""
    return max((logistic(rows[0].margin) for rows in ranking.by_file.values()), default=0.0)


def _best_rows(ranking: FileRanking, file: int) -> list[int]:
    """Return the rows of an unranked file with the most evidence."""
    rows = np.array(ranking.corpus.rows_of(int(ranking.corpus.file_document[file])))
    value = ranking.signals.row_words[rows] + ranking.signals.row_names[rows]
    order = np.lexsort((rows, -ranking.signals.row_agreement[rows], -value))
    best: list[int] = rows[order][:_ROWS].tolist()
    return best


def _by_index(ranking: FileRanking, terms: Sequence[Term], rows: Sequence[int]) -> list[TermMatch]:
    """Return the terms that the index has for rows; only the stem is known, not the word."""
    found = ranking.corpus.find(np.array([term.hash for term in terms], dtype=np.int64))
    here = {
        terms[term].hash
        for term, row in zip(found.term.tolist(), found.row.tolist(), strict=True)
        if row in rows
    }
    return [TermMatch(term, origin_in(term, []), (), ()) for term in terms if term.hash in here]


def _lexical(found: TermMatch) -> dict[str, Any]:
    fields = _of_term("lexical", found.term, found.origin)
    return {**fields, "found": list(found.words), "lines": list(found.lines)}


def _of_term(kind: str, term: Term, origin: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "term": indexed_form(term),
        "word": term.word,
        "origin": origin,
        "source": term.source or term.word,
    }


def _near_words(
    ranking: FileRanking, found: set[int], texts: Sequence[tuple[int, str]]
) -> list[dict[str, Any]]:
    """Return words of the texts that are similar to question words that do not occur there otherwise.

    Text embeddings are built from word vectors, so these words account for the vector agreement.
    """
    missing = [
        term for term in (ranking.query.terms[at] for at in ranking.query.words) if term.hash not in found
    ]
    if not missing or not texts:
        return []
    places = lines_of_words(texts)
    words = list(places)
    if not words:
        return []
    items = []
    for term, cosine in zip(missing, cosines([term.word for term in missing], words), strict=True):
        nearest = [
            at
            for at in np.argsort(-cosine, kind="stable")[:_MOST_NEAR].tolist()
            if cosine[at] >= LEAST_SIMILAR
        ]
        if nearest:
            lines = sorted({line for at in nearest for line in places[words[at]]})
            near = TermMatch(term, SYNONYM, tuple(words[at] for at in nearest), tuple(lines[:MOST_LINES]))
            items.append({**_lexical(near), "similarity": round(float(cosine[nearest[0]]), 3)})
    return items


def _symbols(
    ranking: FileRanking, record: Record, chunks: Sequence[int], terms: Sequence[Term]
) -> list[dict[str, Any]]:
    """Return evidence for names that the chunks define and that match words of the question."""
    asked = set(tokens(ranking.text))
    wanted = {term.hash: term for term in terms if term.origin != IDENTIFIER}
    items: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        for name in record.names[chunk]:
            matched = [
                (wanted[hashed], word) for word in words_of(name) if (hashed := term_hash(word)) in wanted
            ]
            if name in items or not (matched or name in asked):
                continue
            origins = {origin_in(term, [(word, word)]) for term, word in matched}
            weakest = next((origin for origin in (TRANSLATION, STEM) if origin in origins), IDENTIFIER)
            origin = LITERAL if name in asked else weakest
            items[name] = {
                "kind": "symbol",
                "symbol": name,
                "origin": origin,
                "terms": [indexed_form(term) for term, _ in matched],
                "line": record.positions[chunk].start_line,
            }
    return list(items.values())[:_MOST_SYMBOLS]


def _path(ranking: FileRanking, file: int, terms: Sequence[Term]) -> list[dict[str, Any]]:
    """Return evidence for path words that match the question, literally or by similarity."""
    path = ranking.corpus.view.path(file).decode("utf-8", "replace")
    own = list(dict.fromkeys(word for token in tokens(path) for word in words_of(token)))
    plain = [ranking.query.terms[place] for place in ranking.query.words]
    items: list[dict[str, Any]] = []
    left = []
    for term in terms:
        places = [(word, word) for word in own if term_hash(word) == term.hash]
        if places:
            items.append({**_of_term("path", term, origin_in(term, places)), "found": places[0][0]})
        elif term in plain:
            left.append(term)
    named = {one["found"] for one in items}
    others = [word for word in own if word not in named and word.isalpha() and len(word) > 2]
    if left and others:
        for term, cosine in zip(left, cosines([term.word for term in left], others), strict=True):
            near = int(cosine.argmax())
            if cosine[near] >= LEAST_SIMILAR:
                similar = {"found": others[near], "similarity": round(float(cosine[near]), 3)}
                items.append({**_of_term("path", term, SYNONYM), **similar})
    return items


def _dependencies(edges: Sequence[Edge]) -> list[dict[str, Any]]:
    """Return evidence for the edges of a file, grouped by files and relation, with a few symbols each."""
    items: dict[tuple[bytes, bytes, str], dict[str, Any]] = {}
    for edge in edges:
        one = items.setdefault(
            (edge.source_path, edge.target_path, edge.relation),
            {
                "kind": "dependency",
                "sourcePath": edge.source_path.decode("utf-8", "replace"),
                "targetPath": edge.target_path.decode("utf-8", "replace"),
                "relation": edge.relation,
                "symbols": [],
                "line": edge.line,
                "hops": 1,
            },
        )
        if len(one["symbols"]) < _MOST_EDGE_SYMBOLS:
            one["symbols"].append(edge.symbol)
    return list(items.values())[:_MOST_EDGES]


def _listed(record: Record, chunks: Sequence[int]) -> tuple[Symbol, ...]:
    """Return the symbols of a file, those of `chunks` first."""
    rest = (chunk for chunk in range(len(record.positions)) if chunk not in chunks)
    found: dict[str, Symbol] = {}
    for chunk in [*chunks, *rest]:
        position = record.positions[chunk]
        if record.names[chunk] and record.symbols[chunk] and record.symbols[chunk] not in found:
            found[record.symbols[chunk]] = Symbol(
                record.symbols[chunk], record.kinds[chunk], position.start_line, position.end_line
            )
    return tuple(found.values())[:_MOST_SYMBOLS]


def _excerpts(
    record: Record, chunks: Sequence[int], texts: Sequence[str | None], budget: int | None
) -> tuple[tuple[Excerpt, ...], int]:
    """Return the chunks that fit in `budget` characters, in rank order, and how many do not fit."""
    if budget is None:
        return (), 0
    shown, left_out = [], 0
    for chunk, text in zip(chunks, texts, strict=True):
        if text is not None and len(text) > budget:
            left_out += 1
            continue
        budget -= len(text or "")
        position = record.positions[chunk]
        shown.append(Excerpt(position.start_line, position.end_line, record.symbols[chunk], text))
    return tuple(shown), left_out
