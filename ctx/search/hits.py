"""From a question and a view to hits."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.chunking.languages import linguist_name_to_language
from ctx.errors import UsageError
from ctx.git.repository import Repository
from ctx.ranking.confidence import confidence
from ctx.ranking.corpus import Corpus
from ctx.ranking.query import Query, prepare
from ctx.ranking.ranker import RankedRow, place_definitions, ranked_row, read_pool
from ctx.ranking.tuning import PLAIN, TextOf, Tuning
from ctx.search import identifiers
from ctx.search.tested import with_tests
from ctx.storage.records import decode_chunk, decode_record
from ctx.storage.views import paths as path_flags
from ctx.storage.views.segments import Records
from ctx.storage.views.view import View
from ctx.text.query import tokens, words_of
from ctx.text.terms import term_hash
from ctx.types import ALL, CODE, CONFIG, CONTENTS, DOCS, ChunkChange, Hit, RankedHits, Request

Mask = npt.NDArray[np.bool_] | None
"""Boolean selection; None selects all."""

Refine = Callable[[Corpus, Query, Mask, Mask, list[RankedRow], int], list[RankedRow]]
"""Rerank the local ranking: return at most the given number of rows, among some files and rows.

The masks are of the allowed files (files,) and the rows in the scope (rows,).
"""

_SETTINGS = path_flags.CONFIG | path_flags.DATA
_CONTENTS: dict[str, Callable[[npt.NDArray[np.uint8]], npt.NDArray[np.bool_]]] = {
    CODE: lambda flags: (flags & (path_flags.DOCS | _SETTINGS)) == 0,
    DOCS: lambda flags: (flags & path_flags.DOCS) > 0,
    CONFIG: lambda flags: (flags & _SETTINGS) > 0,
}


Scope = Mapping[int, Mapping[int, ChunkChange]]
"""For some files of a view: the change of each selected chunk by number, at least one chunk per file."""


class FileFilter(NamedTuple):
    """Restrictions on an answer.

    Git pathspecs relative to the current directory, languages, and the content kind, one of
    `ctx.types.CONTENTS`.
    """

    repository: Repository
    paths: Sequence[str] = ()
    languages: Sequence[str] = ()
    content: str = ALL


class Changed(NamedTuple):
    """One of the two trees, and its chunks that are searched."""

    view: View
    chunks: Scope


def filter_of(repository: Repository, request: Request) -> FileFilter:
    """Return the restrictions of a request on the files."""
    return FileFilter(repository, request.paths, request.languages, request.content)


def search_view(
    view: View,
    records: Records,
    text: str,
    limit: int,
    filters: FileFilter,
    scope: Scope | None = None,
    refine: Refine | None = None,
    tuning: Tuning = PLAIN,
    is_word: bool = False,
    text_of: Callable[[Hit], str | None] | None = None,
) -> RankedHits:
    """Return the hits for one question, best first, and a message if the filters match nothing.

    With a `scope` only its chunks are returned, scored with the statistics of the whole view. Raises
    `Damaged` if a cluster of the view cannot be read, `UsageError` for an invalid filter.

    `refine` reranks the local ranking. Without it, a question that is one identifier which the view defines,
    or which `is_word`, is answered with the places that contain it. `text_of` reads the texts of tests, to
    tell what they test.
    """
    corpus = corpus_of(view)
    allowed, message = allowed_files(view, filters)
    only: npt.NDArray[np.bool_] | None = None
    if scope is not None:
        in_scope = np.zeros(view.files, dtype=bool)
        in_scope[list(scope)] = True
        allowed = in_scope if allowed is None else allowed & in_scope
        scope = {file: chunks for file, chunks in scope.items() if allowed[file]}
        only = _rows_of(corpus, scope)
    if allowed is not None and not allowed.any():
        return RankedHits([], message)
    query = prepare(text)
    sure: float | None = None
    exact = exact_occurrences(view, records, text, is_word) if refine is None else None

    def best(most: int) -> list[RankedRow]:
        nonlocal sure
        if exact is not None:
            sure = 1.0
            ranked = identifiers.rank_occurrences(corpus, query, exact, allowed, only, tuning, most)
        else:
            pool = read_pool(corpus, query, allowed, most, only, tuning)
            sure = confidence(pool)
            ranked = [ranked_row(pool, placed) for placed in place_definitions(pool, most)]
        if refine is not None:
            sure = None
            ranked = refine(corpus, query, allowed, only, ranked, most)
        if scope is not None:
            return [_in_scope(corpus, scope, one) for one in ranked]
        return ranked

    def hit(one: RankedRow) -> Hit:
        found = hit_of(corpus, records, one)
        if exact is None:
            return _named(corpus, records, query, one, found)
        return _called(found, exact.identifier.name) if exact.definitions[one.row] else found

    hits = _hits(corpus, best, hit, limit, scope)
    if scope is None and text_of is not None and not query.requested & path_flags.TEST:
        hits = with_tests(corpus, hits, text_of)
    return RankedHits(hits, message, confidence=sure)


def exact_occurrences(
    view: View, records: Records, text: str, is_word: bool
) -> identifiers.Occurrences | None:
    """Return the places of the identifier that a question consists of; None for other questions.

    One that no definition has is a question in words, unless it `is_word`.
    """
    identifier = identifiers.read_identifier(text, is_word)
    if identifier is None:
        return None
    corpus = corpus_of(view)
    found = identifiers.find(corpus, identifier, partial(symbol_of, corpus, records))
    return found if is_word or found.definitions.any() else None


def _rows_of(corpus: Corpus, scope: Scope) -> npt.NDArray[np.bool_]:
    """Return the mask of the rows of the chunks in a scope, (rows,)."""
    rows = np.zeros(corpus.rows, dtype=bool)
    for file, chunks in scope.items():
        rows[int(corpus.document_start[corpus.file_document[file]]) + np.array(list(chunks))] = True
    return rows


def _in_scope(corpus: Corpus, scope: Scope, ranked: RankedRow) -> RankedRow:
    """Return the same row under a file whose chunk is in the scope; several files may have one blob."""
    chunk = corpus.chunk(ranked.row)
    if chunk in scope.get(ranked.file, ()):
        return ranked
    document = int(corpus.document_of[ranked.row])
    others = [
        file for file, chunks in scope.items() if corpus.file_document[file] == document and chunk in chunks
    ]
    return ranked._replace(file=min(others, key=corpus.view.path))


def corpus_of(view: View) -> Corpus:
    """Return a view prepared for scoring; the view caches it for the next question."""
    corpus: Corpus | None = view.corpus
    if corpus is None:
        corpus = view.corpus = Corpus(view)
    return corpus


def allowed_files(view: View, filters: FileFilter) -> tuple[npt.NDArray[np.bool_] | None, str | None]:
    """Return the files that match the filters (files,), None for all, and a message if there are none."""
    repository, paths, languages, content = filters
    allowed: npt.NDArray[np.bool_] | None = None
    if paths:
        from ctx.git.pathspec import compile_pathspecs

        match = compile_pathspecs(paths, repository.prefix, repository.work_tree)
        allowed = np.fromiter((match(path) for path in view.paths), dtype=bool, count=view.files)
        if not allowed.any():
            return allowed, f"no file of this tree matches {' '.join(paths)}"
    if languages:
        wanted = {_language(name) for name in languages}
        of_files = np.zeros(view.files, dtype=bool)
        for number, segment in enumerate(view.segments):
            here = np.flatnonzero(view.file_segment == number)
            numbers = [i for i, language in enumerate(segment.languages) if language in wanted]
            of_files[here] = np.isin(segment.document_language[view.file_document[here]], numbers)
        allowed = of_files if allowed is None else allowed & of_files
        if not allowed.any():
            where = f"of this tree that matches {' '.join(paths)}" if paths else "of this tree"
            return allowed, f"no file {where} is in {', '.join(languages)}"
    if content != ALL:
        if content not in _CONTENTS:
            raise UsageError(f"unknown content {content!r}: one of {', '.join(CONTENTS)}")
        of_files = _CONTENTS[content](view.file_flags)
        allowed = of_files if allowed is None else allowed & of_files
        if not allowed.any():
            return allowed, f"no file that the filters let through is {content}"
    return allowed, None


def _language(name: str) -> str:
    found = linguist_name_to_language(name)
    if found is None:
        raise UsageError(f"unknown language {name!r}: use a name such as python, typescript or c++")
    return found


def _hits(
    corpus: Corpus,
    best: Callable[[int], list[RankedRow]],
    hit_of_row: Callable[[RankedRow], Hit],
    limit: int,
    scope: Scope | None = None,
) -> list[Hit]:
    """Return the hits for the best rows without repeated text.

    Of a blob that is read in two languages only the better chunk is kept.
    """
    most = limit
    while True:
        ranked = best(most)
        hits: list[Hit] = []
        for one in ranked:
            hit = hit_of_row(one)
            if scope is not None:
                hit = replace(hit, change=scope[one.file][corpus.chunk(one.row)])
            if not any(_same_text(kept, hit) for kept in hits):
                hits.append(hit)
        if len(hits) >= limit or len(ranked) < most:
            return hits[:limit]
        most *= 2


_JOINED = frozenset({"constant", "field", "type", "macro"})
"""Kinds of small definitions, several of which may be one chunk."""

_DOUBLE_COLON = frozenset({"c", "cpp", "php", "ruby", "rust"})
"""Languages whose symbols are joined by `::`, see the rules in `ctx.chunking.dialects`."""


def _named(corpus: Corpus, records: Records, query: Query, ranked: RankedRow, hit: Hit) -> Hit:
    """Return the hit of several small definitions with the name of the one that the query means most.

    A blank name, such as `_` in Go, gives way to any other, the nearest before it.
    """
    if hit.kind not in _JOINED:
        return hit
    document = int(corpus.document_of[ranked.row])
    record = decode_record(records(corpus.view.cluster_of(ranked.file), corpus.key(document)))
    names = record.names[corpus.chunk(ranked.row)]
    weights: dict[int, float] = dict(zip(query.hashes.tolist(), query.weights.tolist(), strict=True))

    def matched(name: str) -> float:
        terms = {term_hash(word) for token in tokens(name) for word in words_of(token)}
        return sum(weights.get(term, 0.0) for term in sorted(terms))

    main = next((name for name in names if hit.symbol.endswith(name)), "")
    if main and not main.strip("_"):
        names = [name for name in reversed(names) if name.strip("_")]
        return replace(hit, symbol=hit.symbol.removesuffix(main) + max(names, key=matched, default=main))
    meant = max(names, key=matched, default=main)
    if not main or matched(meant) <= matched(main):
        return hit
    return replace(hit, symbol=hit.symbol.removesuffix(main) + meant)


def _called(hit: Hit, name: str) -> Hit:
    """Return the hit of a chunk that defines a name, with the symbol of that definition.

    The chunk may be a small type with its members, or several small definitions.
    """
    around, joint, main = identifiers.split_symbol(hit.symbol)
    if main == name:
        return hit
    if hit.kind in _JOINED:
        return replace(hit, symbol=around + joint + name)
    joint = "::" if hit.language in _DOUBLE_COLON else "."
    kind = "constant" if hit.kind == "enum" else "method"
    return replace(hit, symbol=hit.symbol + joint + name, kind=kind)


def _same_text(one: Hit, other: Hit) -> bool:
    """Return True if the first hit covers half of the other; chunks of one document never overlap."""
    if one.blob != other.blob:
        return False
    a, b = one.position, other.position
    return 2 * (min(a.end, b.end) - max(a.start, b.start)) >= b.end - b.start


def texts_of_rows(records: Callable[[View], Records], text: Callable[[Hit], str | None]) -> TextOf:
    """Return a reader of the texts of rows.

    `records` returns the records of a view, `text` the text of a hit or None.
    """

    def text_of(corpus: Corpus, row: int) -> str | None:
        file = int(corpus.shown[corpus.document_of[row]])
        return text(hit_of(corpus, records(corpus.view), RankedRow(row, file, 0.0, 0.0)))

    return text_of


def symbol_of(corpus: Corpus, records: Records, row: int) -> str:
    """Return the symbol of a row."""
    return hit_of(
        corpus, records, RankedRow(row, int(corpus.shown[corpus.document_of[row]]), 0.0, 0.0)
    ).symbol


def hit_of(corpus: Corpus, records: Records, ranked: RankedRow) -> Hit:
    """Return the hit of a ranked row."""
    view = corpus.view
    document = int(corpus.document_of[ranked.row])
    oid, language = corpus.key(document)
    record = records(view.cluster_of(ranked.file), (oid, language))
    position, symbol, kind, is_test, head, last_line = decode_chunk(record, corpus.chunk(ranked.row))
    others = corpus.files_of_blob(document)
    return Hit(
        path=os.fsdecode(view.path(ranked.file)),
        position=position,
        symbol=symbol,
        kind=kind,
        is_test=is_test,
        head=head,
        last_line=last_line,
        language=language or None,
        blob=oid.hex(),
        score=ranked.score,
        agreement=ranked.agreement,
        also_at=tuple(
            map(os.fsdecode, sorted(view.path(int(file)) for file in others if int(file) != ranked.file))
        ),
    )
