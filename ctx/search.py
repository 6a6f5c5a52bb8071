"""From a question and a view to an answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ctx.chunking.languages import linguist_name_to_language
from ctx.embed.wordtable import word_table
from ctx.errors import UsageError
from ctx.git.repository import Repository
from ctx.records import decode_chunk
from ctx.rank.corpus import Corpus
from ctx.rank.query import prepare
from ctx.rank.ranker import Ranked, rank
from ctx.resolve import Resolution
from ctx.snapshots import Totals
from ctx.values import Answer, Coverage, Hit
from ctx.views.segments import Key
from ctx.views.view import View

Records = Callable[[bytes, Key], bytes]
"""Gives the record of a document of a cluster."""

_corpora: dict[int, tuple[View, Corpus]] = {}
_KEPT_CORPORA = 4


def search(
    repository: Repository,
    view: View,
    records: Records,
    totals: Totals,
    asked: Resolution,
    text: str,
    limit: int,
    paths: Sequence[str],
    languages: Sequence[str],
    started: float,
) -> Answer:
    """Answer one question from one view. Raises `Damaged` when a cluster of it cannot be read. `started` is `time.monotonic()` at the beginning of the request."""
    corpus = _corpus(view)
    allowed, message = _allowed(repository, view, paths, languages)
    hits: list[Hit] = []
    if allowed is None or allowed.any():
        query = prepare(text, word_table())
        hits = [_hit(corpus, records, ranked) for ranked in rank(corpus, query, allowed, limit)]
    return Answer(
        hits,
        asked.revision,
        asked.commit,
        asked.tree,
        asked.resolved_by,
        Coverage(True, totals.files, totals.chunks, dict(totals.skipped)),
        message,
        time.monotonic() - started,
    )


def _corpus(view: View) -> Corpus:
    found = _corpora.get(id(view))
    if found is None or found[0] is not view:
        while len(_corpora) >= _KEPT_CORPORA:
            del _corpora[next(iter(_corpora))]
        found = _corpora[id(view)] = (view, Corpus(view))
    return found[1]


def _allowed(
    repository: Repository, view: View, paths: Sequence[str], languages: Sequence[str]
) -> tuple[npt.NDArray[np.bool_] | None, str | None]:
    """The files that the filters let through, and a sentence when there are none."""
    allowed: npt.NDArray[np.bool_] | None = None
    if paths:
        from ctx.git.pathspec import compile_pathspecs

        match = compile_pathspecs(paths, repository.prefix)
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
            return allowed, f"no file of this tree {'and these paths ' if paths else ''}is in {', '.join(languages)}"
    return allowed, None


def _language(name: str) -> str:
    found = linguist_name_to_language(name)
    if found is None:
        raise UsageError(f"unknown language {name!r}: use a name such as python, typescript or c++")
    return found


def _hit(corpus: Corpus, records: Records, ranked: Ranked) -> Hit:
    view = corpus.view
    document = int(corpus.document_of[ranked.row])
    segment, place = corpus.place(document)
    oid, language = segment.key(place)
    row = ranked.row - int(corpus.document_start[document])
    record = records(view.cluster_of(ranked.file), (oid, language))
    position, symbol, kind, is_test = decode_chunk(record, row)
    others = np.flatnonzero(corpus.file_document == document)
    return Hit(
        view.path(ranked.file),
        position,
        symbol,
        kind,
        is_test,
        language or None,
        oid,
        ranked.score,
        ranked.agreement,
        tuple(sorted(view.path(int(file)) for file in others if int(file) != ranked.file)),
    )


