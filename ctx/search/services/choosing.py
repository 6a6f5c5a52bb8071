"""Choosing the model of an answer: the configured service, or the embedded model alone.

A service is used only if it has the vectors of everything that is searched. A few missing vectors are
embedded at once; an answer does not wait for more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import CtxError, Damaged
from ctx.indexing.vectors.indexing import VectorIndexer
from ctx.models.http import TimeBudget
from ctx.ranking.vector_search import VectorSearch
from ctx.search.hits import corpus_of
from ctx.session import take_shared
from ctx.storage.views.vectors import VectorRange
from ctx.storage.views.view import View
from ctx.text.pluralize import pluralize_with

if TYPE_CHECKING:
    from ctx.models.embedding_model import EmbeddingModel
    from ctx.search.session import SearchSession

_AT_ONCE = 64
"""Texts that a search embeds before it answers; if more are missing, it answers without them."""
_NEVER = "never"


class Part(NamedTuple):
    """A tree of one repository: its index and its view."""

    home: SearchSession
    view: View


class Searched(NamedTuple):
    """A view that is searched, and the trees that it consists of, in order.

    `only` are the clusters that may appear in the answer, None for all.
    """

    view: View
    parts: Sequence[Part]
    only: Collection[bytes] | None = None


class Choice(NamedTuple):
    """The chosen model, the location of its vectors for each view, and a message."""

    model: EmbeddingModel | None
    near: list[VectorSearch]
    said: list[str]


class _UnusableError(Exception):
    """The model cannot be used; the message gives the reason and the remedy."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.remedy = remedy


def choose(session: SearchSession, searched: Sequence[Searched], budget: TimeBudget) -> Choice:
    """Return the model to answer with. Raises UsageError."""
    wanted = session.embedding_model
    if wanted is None:
        return Choice(None, [], [])
    try:
        return Choice(wanted, _near(session, wanted, searched, budget), [])
    except _UnusableError as why:
        return Choice(None, [], [f"{why}, and the embedded model answered{why.remedy}"])


def _near(
    session: SearchSession, model: EmbeddingModel, searched: Sequence[Searched], budget: TimeBudget
) -> list[VectorSearch]:
    """Return the vectors of the views. Raises `_UnusableError`."""
    try:
        return [_of_view(session, model, one, budget) for one in searched]
    except (CtxError, OSError) as error:
        raise _UnusableError(f"the vectors of {model.settings.model} were not used ({error})") from error


def _of_view(
    session: SearchSession, model: EmbeddingModel, one: Searched, budget: TimeBudget
) -> VectorSearch:
    def make() -> VectorSearch:
        where = []
        for part in one.parts:
            own = model if part.home is session else _same_model(model, part.home)
            where += _of_part(own, part, one.only, budget)
            if own is not model and not _agree(own, model):
                raise _UnusableError(f"{model.settings.model} is not known to be the same in every submodule")
        return VectorSearch(corpus_of(one.view), where, model.settings.precision)

    return model.kept_for(one.view, make) if one.only is None else make()


def _same_model(model: EmbeddingModel, home: SearchSession) -> EmbeddingModel:
    """Return the same model as configured in another repository. Raises `_UnusableError`."""
    other = home.embedding_model
    if other is None or other.descriptor != model.descriptor:
        raise _UnusableError(
            f"{model.settings.model} is not the model that every submodule is configured to use"
        )
    return other


def _agree(one: EmbeddingModel, other: EmbeddingModel) -> bool:
    """Return True if vectors of a model in two repositories compare: it returned the same for fixed texts."""
    mine, theirs = one.reference, other.reference
    return mine is not None and theirs is not None and mine.agrees(theirs)


def _of_part(
    own: EmbeddingModel, part: Part, only: Collection[bytes] | None, budget: TimeBudget
) -> list[VectorRange | None]:
    """Return the vectors of each cluster of a tree, None for those not in `only`. Raises `_UnusableError`."""
    keys = [key.tobytes() for key in part.view.cluster_keys]
    wanted = [key for key in keys if only is None or key in only]
    found = own.files.find(wanted)
    if None in found:
        lost = {key for key, rows in zip(wanted, found, strict=True) if rows is None}
        _complete(own, part, lost, budget, whole=only is None)
        found = own.files.find(wanted)
    spans = {key: rows for key, rows in zip(wanted, found, strict=True) if rows is not None}
    if len(spans) < len(set(wanted)):
        raise _UnusableError(
            f"some vectors of {own.settings.model} cannot be read", "; `git ctx fsck` lists them"
        )
    return [spans.get(key) for key in keys]


def _complete(
    model: EmbeddingModel, part: Part, lost: Collection[bytes], budget: TimeBudget, *, whole: bool
) -> None:
    """Restore vectors that lost only their search-ready form, and embed the rest if it is small enough."""
    index, tree = part.home, part.view.tree
    indexer = VectorIndexer(index, model)
    pairs = [pair for pair in indexer.pairs.every(tree) if pair.local in lost]
    indexer.restore(pairs)
    lacking = indexer.pairs.absent(pairs)
    if lacking and model is index.embedding_model:
        take_shared(index, tree, indexing=False)
        lacking = indexer.pairs.absent(pairs)
        indexer.restore([pair for pair in pairs if pair not in lacking])
    if not lacking:
        return
    never = index.repository.settings.get("ctx.catchUp") == _NEVER
    try:
        asked = _AT_ONCE + 1 if never else indexer.count_new_texts(tree, lacking, _AT_ONCE)
    except Damaged:
        asked = _AT_ONCE + 1
    if asked > _AT_ONCE:
        count = pluralize_with(len(lacking), "cluster", "of this tree has", "of this tree have")
        why = f"{count} no vectors of {model.settings.model} yet"
        raise _UnusableError(why, ": `git ctx index` creates them")
    if whole:
        indexer.cover(tree, budget=budget)
    else:
        indexer.embed(tree, lacking, budget=budget)
