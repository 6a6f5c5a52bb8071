"""A search with model services: vectors, query expansion and a reranker, each only if configured.

If a model fails, the built-in model is used instead, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ctx.errors import CtxError, UsageError
from ctx.models.addresses import full_address
from ctx.models.centre import centred
from ctx.models.embedding_model import EmbeddingModel
from ctx.models.http import Service, TimeBudget
from ctx.models.ledger import Ledger
from ctx.models.precision import is_absolute
from ctx.models.presets import CHAT, RERANKER_DIALECTS
from ctx.models.rerank import expand, rerank
from ctx.models.settings import (
    ServiceSettings,
    embedder_settings,
    expander_settings,
    model_timeout,
    reranker_settings,
)
from ctx.ranking.corpus import Corpus
from ctx.ranking.fusion import fuse, merge_hits
from ctx.ranking.query import Query
from ctx.ranking.ranker import RankedRow
from ctx.ranking.vector_search import VectorMatch
from ctx.search.hits import FileFilter, Mask, search_view
from ctx.search.services.choosing import Searched, choose
from ctx.storage.views.view import View
from ctx.text.pluralize import pluralize
from ctx.types import Hit, ModelOptions, RankedHits

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

POOL = 50
"""Nearest chunks that are considered for the answer."""

Find = Callable[[Mask, int, Mask], list[VectorMatch]]
"""Return the chunks of a view nearest to the query: the files, the number, the rows; None for all."""

Retrieve = Callable[[str, int, "list[Find] | None"], tuple[list[Hit], "str | None"]]
"""Return hits for a query, at most the given number, and a message or None.

If vectors are given, the nearest chunks of each searched view form a second ranking.
"""


class ServiceSearch:
    """One search with the configured models."""

    def __init__(
        self,
        session: SearchSession,
        searched: Sequence[Searched],
        retrieve: Retrieve,
        filters: FileFilter,
        options: ModelOptions,
    ) -> None:
        self._session = session
        self._searched = searched
        self._retrieve = retrieve
        self._scope = _scope(filters)
        self._options = options
        self._messages: list[str] = []
        self._ranked_with: list[str] = []
        self._further_queries: list[str] = []
        settings = session.repository.settings
        wanted = embedder_settings(settings)
        self._budget = TimeBudget(model_timeout(settings))
        self._reranker = reranker_settings(settings) if options.rerank else None
        self._expander = expander_settings(settings) if options.expand else None
        if options.expand and self._expander is None:
            raise UsageError("--expand needs a chat model: set ctx.expander.url and ctx.expander.model")
        precision = wanted.precision if wanted is not None else "bit"
        self._needs_vectors = options.min_score is not None and self._reranker is None
        if self._needs_vectors and not is_absolute(precision):
            raise UsageError(
                f"scores of vectors kept as {precision} only order the hits of one answer: --min-score needs "
                "a reranker, or ctx.embedder.precision int8, f16 or f32"
            )

    def answer(self, query: str, limit: int) -> RankedHits:
        """Return the hits.

        Raises CtxError if a threshold is given and no scores exist that it applies to.
        """
        choice = choose(self._session, self._searched, self._budget)
        self._messages += choice.said
        model = choice.model

        def retrieve(text: str, most: int) -> tuple[list[Hit], str | None]:
            vector = None if model is None else self._query_vector(model, text)
            if vector is None and self._needs_vectors:
                raise CtxError(f"--min-score has no scores to apply to: {'; '.join(self._messages)}")
            if vector is None:
                return self._retrieve(text, most, None)
            finds: list[Find] = [partial(near.find, vector) for near in choice.near]
            return self._retrieve(text, most, finds)

        pool = self._reranker.pool if self._reranker is not None else POOL
        most = max(pool if self._reranker or self._expander else limit, limit)
        hits, message = retrieve(query, most)
        if self._expander is not None and hits:
            hits = self._expanded(self._expander, query, hits, most, retrieve)
        if self._reranker is not None and hits:
            hits = self._reranked(self._reranker, query, hits, limit)
        elif self._options.min_score is not None:
            hits = [hit for hit in hits if hit.agreement >= self._options.min_score]
        message = "; ".join(dict.fromkeys(filter(None, (message, *self._messages)))) or None
        return RankedHits(hits[:limit], message, tuple(self._ranked_with), tuple(self._further_queries))

    def _query_vector(self, model: EmbeddingModel, query: str) -> npt.NDArray[np.float32] | None:
        try:
            embedder = model.query_embedder.within(self._budget)
            try:
                reference = model.check_query(embedder)
                vector = embedder.embed_query(query, self._scope)
                found: npt.NDArray[np.float32] = centred(vector[None], reference, model.settings.precision)[0]
            finally:
                embedder.account()
        except CtxError as error:
            self._messages.append(f"{error}; the embedded model answered")
            return None
        name = model.settings.model
        if name not in self._ranked_with:
            self._ranked_with.append(name)
        return found

    # -- query expansion and reranking

    def _expanded(
        self,
        settings: ServiceSettings,
        query: str,
        hits: list[Hit],
        limit: int,
        retrieve: Callable[[str, int], tuple[list[Hit], str | None]],
    ) -> list[Hit]:
        texts = [self._session.text(hit) or "" for hit in hits[:5]]
        try:
            with self._service("expander", full_address(settings.url, CHAT)) as service:
                queries = expand(service, settings, query, texts)
        except CtxError as error:
            self._messages.append(f"no further queries: {error}")
            return hits
        self._ranked_with.append(settings.model)
        self._further_queries = queries
        return merge_hits([hits, *(retrieve(one, limit)[0] for one in queries)])[:limit]

    def _reranked(self, settings: ServiceSettings, query: str, hits: list[Hit], limit: int) -> list[Hit]:
        texts = [self._session.text(hit) or "" for hit in hits]
        try:
            with self._service(
                "reranker", full_address(settings.url, RERANKER_DIALECTS[settings.dialect])
            ) as service:
                scores = rerank(service, settings, query, texts)
        except CtxError as error:
            if self._options.min_score is not None:
                raise CtxError(f"--min-score has no scores to apply to: {error}") from error
            self._messages.append(f"the hits are in local order: {error}")
            return hits
        name = settings.model or settings.dialect
        self._ranked_with.append(name)
        asked = self._options.min_score
        least = settings.min_score if asked is None else asked
        scored = [
            replace(hit, score=round(score, 6))
            for hit, score in zip(hits, scores, strict=True)
            if score is not None and score >= least
        ]
        left_out = len(hits) - len(scored)
        if left_out and len(scored) < limit:
            of = f"{left_out:,} of {pluralize(len(hits), 'candidate')}"
            how = "" if asked is not None else "; `git config ctx.reranker.minScore` changes the limit"
            self._messages.append(f"{name} gave {of} a score below {least:g}, so they are left out{how}")
        return sorted(scored, key=lambda hit: -hit.score)

    def _service(self, purpose: str, url: str) -> closing[Service]:
        repository = self._session.repository
        ledger = Ledger(repository.common_dir)
        content = "queries and the text of what was found"
        return closing(Service(repository, ledger, url, purpose, content, budget=self._budget))


def of_view(session: SearchSession, view: View, filters: FileFilter) -> Retrieve:
    """Return retrieval from one view: the local ranking, fused with the nearest chunks if there are any."""
    records = partial(session.record, view)

    def retrieve(query: str, limit: int, finds: list[Find] | None) -> tuple[list[Hit], str | None]:
        if finds is None:
            return search_view(view, records, query, limit, filters, tuning=session.tuning)[:2]
        (find,) = finds

        def refine(
            corpus: Corpus, prepared: Query, allowed: Mask, only: Mask, local: list[RankedRow], most: int
        ) -> list[RankedRow]:
            near = find(allowed, max(most, POOL), only)
            agreement = {one.row: max(0.0, one.similarity) for one in near}
            lists = [[(one.row, one.file) for one in near]]
            # If no word of the query occurs in the tree, the local order reflects only vector similarity.
            if len(corpus.find(prepared.hashes).row):
                lists.append([(one.row, one.file) for one in local])
            return [one._replace(agreement=agreement.get(one.row, 0.0)) for one in fuse(corpus, lists, most)]

        return search_view(view, records, query, limit, filters, refine=refine, tuning=session.tuning)[:2]

    return retrieve


def _scope(filters: FileFilter) -> str:
    """Return the directory that the answer is restricted to, if it is one plain directory."""
    if len(filters.paths) != 1 or filters.paths[0].startswith(":") or set(filters.paths[0]) & set("*?[\\"):
        return ""
    prefix = filters.repository.prefix.decode("utf-8", "replace")
    return (prefix + filters.paths[0]).strip("/")
