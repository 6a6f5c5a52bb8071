"""A search with remote models: their vectors, further queries, a reranker, each only where configured.

What a model does not give, for whatever reason, the model of the package gives, and the answer says so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.embed.precision import is_absolute
from ctx.errors import CtxError, Damaged, UsageError
from ctx.rank.corpus import Corpus
from ctx.rank.query import Query
from ctx.rank.ranker import Ranked
from ctx.remote.centre import centred
from ctx.remote.embedder import refuse_threshold
from ctx.remote.fusion import fuse, live_rows, near_rows
from ctx.remote.http import Service
from ctx.remote.indexing import VectorIndexer
from ctx.remote.ledger import Ledger
from ctx.remote.rerank import expand, full_address, rerank
from ctx.remote.settings import (
    ServiceSettings,
    embedder_settings,
    expander_settings,
    reranker_settings,
)
from ctx.search import Filters, corpus_of, search
from ctx.values import Hit
from ctx.views.vectors import Rows
from ctx.views.view import View

if TYPE_CHECKING:
    from ctx.engine import RepositoryIndex

_POOL = 50
_AT_ONCE = 64
"""Chunks that a search has embedded before it answers; with more it answers without them."""
_NEVER = "never"
_TIMEOUT, _ATTEMPTS = 20.0, 2
"""Somebody waits for the answer of a search."""

Allowed = npt.NDArray[np.bool_] | None


class Wishes(NamedTuple):
    """What the caller wants of the models: further queries, no reranker, nothing below a score."""

    expand: bool = False
    rerank: bool = True
    min_score: float | None = None


class RemoteSearch:
    """One search of one tree with the models that are configured."""

    def __init__(self, index: RepositoryIndex, view: View, wishes: Wishes) -> None:
        self._index = index
        self._view = view
        self._wishes = wishes
        self._said: list[str] = []
        self.ranked_with: list[str] = []
        """The models that had a part in the order."""
        self.further_queries: list[str] = []
        """What a chat model proposed to ask too."""
        settings = index.repository.settings
        wanted = embedder_settings(settings)
        self._model = index.remote_model if wanted is not None else None
        self._reranker = reranker_settings(settings) if wishes.rerank else None
        self._expander = expander_settings(settings) if wishes.expand else None
        if wishes.expand and self._expander is None:
            raise UsageError("--expand needs a chat model: set ctx.expander.url and ctx.expander.model")
        precision = wanted.precision if wanted is not None else "bit"
        if wishes.min_score is not None and self._reranker is None and not is_absolute(precision):
            refuse_threshold(precision)

    def answer(self, query: str, limit: int, filters: Filters) -> tuple[list[Hit], str | None]:
        """The hits, and a sentence where there is something to say."""
        pool = self._reranker.pool if self._reranker is not None else _POOL
        where = self._vectors()
        most = max(pool if self._reranker or self._expander else limit, limit)
        hits, message = self._retrieve(query, most, filters, where)
        if self._expander is not None and hits:
            hits = self._expanded(self._expander, query, hits, most, filters, where)
        if self._reranker is not None and hits:
            hits = self._reranked(self._reranker, query, hits)
        elif self._wishes.min_score is not None:
            hits = [hit for hit in hits if hit.agreement >= self._wishes.min_score]
        return hits[:limit], message or "; ".join(self._said) or None

    # -- vectors

    def _vectors(self) -> list[Rows] | None:
        """Where the model's vectors of the view are, None where the answer has to do without them."""
        if self._model is None:
            return None
        keys = [key.tobytes() for key in self._view.cluster_keys]
        try:
            found = self._model.files.find(keys)
            complete = found if None not in found else self._complete(keys, found)
        except (CtxError, OSError) as error:
            self._said.append(f"the vectors of {self._model.settings.model} were not used: {error}")
            return None
        if complete is None:
            return None
        where = [rows for rows in complete if rows is not None]
        expected = live_rows(self._view, corpus_of(self._view))
        if [rows.end - rows.start for rows in where] != expected.tolist():
            self._said.append("the vectors do not fit the chunks of this tree and were not used")
            return None
        return where

    def _complete(self, keys: Sequence[bytes], found: Sequence[Rows | None]) -> list[Rows | None] | None:
        """Restore what only lost its search-ready form, and embed what is little enough to wait for."""
        assert self._model is not None
        indexer = VectorIndexer(self._index, self._model)
        tree = self._view.tree
        indexer.restore(tree, [key for key, rows in zip(keys, found, strict=True) if rows is None])
        found = self._model.files.find(keys)
        if None not in found:
            return list(found)
        lacking = indexer.lacking(tree)
        if lacking:
            self._index.take_shared(tree, indexing=False)
            lacking = indexer.lacking(tree)
        try:
            chunks = indexer.chunks_of(lacking)
        except Damaged:
            chunks = _AT_ONCE + 1
        if chunks > _AT_ONCE or self._index.repository.config("ctx.catchUp") == _NEVER:
            self._said.append(
                f"{len(lacking):,} clusters of this tree have no vectors of {self._model.settings.model} yet "
                "and the embedded model answered: `git ctx index` has them made"
            )
            return None
        indexer.cover(tree)
        return list(self._model.files.find(keys))

    def _retrieve(
        self, query: str, limit: int, filters: Filters, where: list[Rows] | None
    ) -> tuple[list[Hit], str | None]:
        records = partial(self._index.record, self._view)
        vector = None if where is None else self._query_vector(query, filters)
        if where is None or vector is None or self._model is None:
            return search(self._view, records, query, limit, filters, tuning=self._index.tuning)
        model = self._model
        if model.settings.model not in self.ranked_with:
            self.ranked_with.append(model.settings.model)
        near_similarity: dict[int, float] = {}

        def refine(
            corpus: Corpus, prepared: Query, allowed: Allowed, local: list[Ranked], most: int
        ) -> list[Ranked]:
            count = max(most, _POOL)
            near = near_rows(corpus, model.files, where, vector, model.settings.precision, allowed, count)
            near_similarity.update({one.row: one.similarity for one in near})
            lists = [[(one.row, one.file) for one in near]]
            # Without a word of the query in the whole tree the local order is one of vague likeness alone.
            if len(corpus.find(prepared.hashes).row):
                lists.append([(one.row, one.file) for one in local])
            return [
                one._replace(agreement=near_similarity.get(one.row, 0.0)) for one in fuse(corpus, lists, most)
            ]

        return search(self._view, records, query, limit, filters, refine=refine, tuning=self._index.tuning)

    def _query_vector(self, query: str, filters: Filters) -> npt.NDArray[np.float32] | None:
        assert self._model is not None
        try:
            embedder = self._model.query_embedder
            try:
                reference = self._model.check_query(embedder)
                vector = embedder.embed_query(query, _scope(filters))
                found: npt.NDArray[np.float32] = centred(
                    vector[None], reference, self._model.settings.precision
                )[0]
                return found
            finally:
                embedder.account()
        except CtxError as error:
            self._said.append(f"{error}; the embedded model answered")
            return None

    # -- further queries, and a second look

    def _expanded(
        self,
        settings: ServiceSettings,
        query: str,
        hits: list[Hit],
        limit: int,
        filters: Filters,
        where: list[Rows] | None,
    ) -> list[Hit]:
        texts = [self._index.text(hit) or "" for hit in hits[:5]]
        try:
            service = self._service(settings, "expander", full_address(settings.url, "listwise"))
            try:
                queries = expand(service, settings, query, texts)
            finally:
                service.close()
        except CtxError as error:
            self._said.append(f"no further queries: {error}")
            return hits
        self.ranked_with.append(settings.model)
        self.further_queries = queries
        lists = [hits, *(self._retrieve(one, limit, filters, where)[0] for one in queries)]
        return merged(lists)[:limit]

    def _reranked(self, settings: ServiceSettings, query: str, hits: list[Hit]) -> list[Hit]:
        texts = [self._index.text(hit) or "" for hit in hits]
        try:
            service = self._service(settings, "reranker", full_address(settings.url, settings.dialect))
            try:
                scores = rerank(service, settings, query, texts)
            finally:
                service.close()
        except CtxError as error:
            self._said.append(f"the hits are in local order: {error}")
            return hits
        self.ranked_with.append(settings.model or settings.dialect)
        least = self._wishes.min_score
        scored = [
            hit._replace(score=round(score, 6))
            for hit, score in zip(hits, scores, strict=True)
            if score is not None and (least is None or score >= least)
        ]
        return sorted(scored, key=lambda hit: -hit.score)

    def _service(self, settings: ServiceSettings, purpose: str, url: str) -> Service:
        repository = self._index.repository
        ledger = (
            self._model.ledger if self._model is not None else Ledger(os.path.realpath(repository.common_dir))
        )
        what = "queries and the text of what was found"
        return Service(
            url,
            purpose,
            what,
            repository.place.directory,
            repository.settings,
            ledger,
            timeout=_TIMEOUT,
            attempts=_ATTEMPTS,
        )


def merged(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Several answers as one, by reciprocal ranks; each hit with the score that makes this order."""
    worth: dict[tuple[bytes, int], float] = {}
    hits: dict[tuple[bytes, int], Hit] = {}
    for one in lists:
        for place, hit in enumerate(one):
            key = hit.blob, hit.position.start
            hits.setdefault(key, hit)
            worth[key] = worth.get(key, 0.0) + 1.0 / (61 + place)
    order = sorted(hits, key=lambda key: (-worth[key], hits[key].path, key[1]))
    most = len(lists) / 61
    return [hits[key]._replace(score=round(worth[key] / most, 6)) for key in order]


def _scope(filters: Filters) -> str:
    """The directory that the answer is restricted to, where it is one plain directory."""
    if len(filters.paths) != 1 or filters.paths[0].startswith(":") or set(filters.paths[0]) & set("*?[\\"):
        return ""
    prefix = filters.repository.prefix.decode("utf-8", "replace")
    return (prefix + filters.paths[0]).strip("/")
