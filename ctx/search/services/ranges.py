"""A search of the differences between two trees with model services.

Vectors of one model compare between trees, so the chunks of both form one list by similarity. The local
ranking gives another list, and both are fused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ctx.ranking.corpus import Corpus
from ctx.ranking.fusion import fuse_hits, identity_of
from ctx.ranking.query import Query
from ctx.ranking.ranker import RankedRow
from ctx.search.hits import Changed, FileFilter, Mask, search_view
from ctx.search.services.choosing import Part, Searched
from ctx.search.services.searching import POOL, Find, ServiceSearch
from ctx.types import Hit, ModelOptions, RankedHits, Request, by_score

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


def search_ranges(
    session: SearchSession,
    sides: Sequence[Changed],
    request: Request,
    filters: FileFilter,
    rank_locally: Callable[[str, int, FileFilter], tuple[list[Hit], str | None]],
) -> RankedHits:
    """Return the hits. Only chunks that differ are embedded.

    `rank_locally` returns the hits for a text by the local ranking, up to a limit, and a message.
    """

    def retrieve(text: str, most: int, finds: list[Find] | None) -> tuple[list[Hit], str | None]:
        count = most if finds is None else max(most, POOL)
        local, message = rank_locally(text, count, filters)
        if finds is None:
            return local[:most], message
        near, has_words = _near(session, sides, finds, text, count, filters)
        agreement = {identity_of(hit): max(0.0, hit.agreement) for hit in near}
        # If no word of the query occurs in the trees, the local order reflects only vector similarity.
        found = fuse_hits([near, local] if has_words else [near])
        return [replace(hit, agreement=agreement.get(identity_of(hit), 0.0)) for hit in found[:most]], message

    searched = [
        Searched(side.view, [Part(session, side.view)], {side.view.cluster_of(file) for file in side.chunks})
        for side in sides
    ]
    options = request.models or ModelOptions()
    return ServiceSearch(session, searched, retrieve, filters, options).answer(request.text, request.limit)


def _near(
    session: SearchSession,
    sides: Sequence[Changed],
    finds: Sequence[Find],
    text: str,
    count: int,
    filters: FileFilter,
) -> tuple[list[Hit], bool]:
    """Return the chunks of both trees by similarity, and whether a word of the query occurs in a tree."""
    has_words = False
    near: list[Hit] = []
    for (view, chunks), find in zip(sides, finds, strict=True):

        def nearest(
            corpus: Corpus,
            prepared: Query,
            allowed: Mask,
            only: Mask,
            _: list[RankedRow],
            most: int,
            find: Find = find,
        ) -> list[RankedRow]:
            nonlocal has_words
            has_words |= bool(len(corpus.find(prepared.hashes).row))
            return [
                RankedRow(one.row, one.file, round(one.similarity, 6), one.similarity)
                for one in find(allowed, most, only)
            ]

        records = partial(session.record, view)
        near += search_view(view, records, text, count, filters, chunks, refine=nearest).hits
    near.sort(key=by_score)
    return near, has_words
