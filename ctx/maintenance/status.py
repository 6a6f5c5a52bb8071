"""Status of an index, from its snapshots and their logs, and of model services. No request is sent."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctx.chunking.languages import display_name
from ctx.errors import CtxError, Damaged, UsageError
from ctx.indexing.cost import plan
from ctx.indexing.tree_walk import TreeReader
from ctx.maintenance.inventory import inventory
from ctx.maintenance.pins import pins
from ctx.models.model_files import TRUNCATED_TEXTS
from ctx.models.stored_settings import recalled
from ctx.pack.store import PackStore
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.descriptor import Descriptor
from ctx.storage.sharing import storage_mode
from ctx.storage.snapshots import Provenance, Snapshots, Totals
from ctx.storage.vectors import BITS_A_DIMENSION
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

COMPLETE = "complete"
DAMAGED = "damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelStatus:
    """Stored vectors of one model service: its complete trees, and `done` of the `clusters` of HEAD.

    `configured` is True for the configured model. `clusters` and `done` are None if the tree of HEAD cannot
    be read; `truncated` is the number of shortened texts in that tree, as far as known; `size` in bytes.
    """

    model: str
    descriptor: str
    configured: bool
    trees: list[str]
    clusters: int | None
    done: int | None
    truncated: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotStatus:
    """Status of one snapshot; `languages` maps a name to its share of lines in 0..1."""

    tree: str
    status: str
    revisions: list[str]
    provenance: list[Provenance]
    clusters: int
    files: int
    files_size: int
    lines: int
    chunks: int
    languages: dict[str, float]
    index_size: int
    descriptor: str
    skipped: dict[str, int]
    pinned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """Cost of updating the index to the tree of HEAD; `chunks` is an estimate by bytes.

    `missing` is the number of blobs that are not in this clone; the tree is indexed without them.
    """

    tree: str | None = None
    new_blobs: int = 0
    chunks: int = 0
    covered: bool = False
    missing: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptPack:
    """A kept pack: its creation time in seconds since 1970 and its size in bytes."""

    slug: str
    created_at: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Output of `git ctx status`. Sizes in bytes; `alternates` are the paths of the alternate stores.

    `message` is one sentence for the user if a setting has no effect, else None.
    """

    repository_id: str
    store_path: str
    store_size: int
    snapshots: list[SnapshotStatus]
    head: CatchUp
    storage: str
    alternates: list[str]
    packs: tuple[KeptPack, ...] = ()
    models: tuple[ModelStatus, ...] = ()
    message: str | None = None


def status(session: SearchSession) -> Status:
    """Return everything that `git ctx status` shows."""
    names = _names(session)
    pinned = {pin.tree for pin in pins(session.store)}
    found = [
        _snapshot(session, tree, names.get(tree, []), tree in pinned) for tree in session.snapshots.trees()
    ]
    found.sort(key=lambda one: (-max((entry.created_at for entry in one.provenance), default=0), one.tree))
    return Status(
        repository_id=session.repository_id,
        store_path=session.store.path,
        store_size=session.store.size(),
        snapshots=found,
        head=_catch_up(session),
        storage=storage_mode(session.repository, session.store),
        alternates=session.store.alternates,
        packs=tuple(
            KeptPack(slug=one.slug, created_at=one.created // 10**9, size=one.size)
            for one in PackStore(session.store).list()
        ),
        models=tuple(_models(session)),
        message="; ".join(_warnings(session)) or None,
    )


def _without_words(session: SearchSession) -> int:
    """Return the number of files of HEAD whose words cannot be counted, since they are not in this clone."""
    try:
        blobs = session.indexer.uncounted(session.resolve().tree)
        return session.repository.blob_sizes(blobs).count(None)
    except CtxError:
        return 0


def _warnings(session: SearchSession) -> Iterator[str]:
    settings = session.repository.settings
    if settings.is_partial_clone and (count := _without_words(session)):
        yield (
            f"the words of {pluralize(count, 'file')} of HEAD are missing, since the text is not in this "
            "clone, so searches use symbols, paths and vectors only: `git ctx index --fetch` gets it, "
            "or fetch an index that was published by `git ctx push --with-words`"
        )
    # Reading the whole history just to check it would be slow.
    if settings.is_partial_clone and session.past_unread is not None:
        yield session.past_unread
    for name, _ in settings.sections("remote", "mirror"):
        if settings.get_bool(f"remote.{name}.mirror", False):
            yield (
                f"`git push {name}` mirrors (remote.{name}.mirror) and so deletes the index that is "
                f"published there, or sets it back: `git ctx push {name}` publishes it again"
            )


def _names(session: SearchSession) -> dict[bytes, list[str]]:
    """Return the names of branches, tags and HEAD by tree."""
    repository = session.repository
    names: dict[bytes, list[str]] = {}
    _, head = repository.head()
    pairs = [(b"HEAD", head)] if head else []
    pairs += list(repository.references())
    covered = set(session.snapshots.trees())
    for name, commit in pairs:
        try:
            tree = repository.commit_info(commit).tree
        except KeyError:
            continue
        if tree in covered:
            names.setdefault(tree, []).append(os.fsdecode(name))
    return names


def _snapshot(session: SearchSession, tree: bytes, revisions: list[str], pinned: bool) -> SnapshotStatus:
    root = session.snapshots.tree(tree)
    record = root and session.snapshots.node(root)
    totals = record.totals if record else Totals()
    state, size = DAMAGED, 0
    with suppress(OSError, Damaged):
        for key in session.snapshots.cluster_keys(root) if root else ():
            size += session.clusters.size(key)
        state = COMPLETE if record else DAMAGED
    lines = max(1, totals.lines)
    languages = {
        display_name(language or None): count / lines
        for language, count in sorted(totals.languages.items(), key=lambda pair: (-pair[1], pair[0]))
    }
    return SnapshotStatus(
        tree=tree.hex(),
        status=state,
        revisions=revisions,
        provenance=session.snapshots.log(tree),
        clusters=totals.clusters,
        files=totals.files,
        files_size=totals.size,
        lines=totals.lines,
        chunks=totals.chunks,
        languages=languages,
        index_size=size,
        descriptor=str(session.descriptor),
        skipped=dict(totals.skipped),
        pinned=pinned,
    )


def _catch_up(session: SearchSession) -> CatchUp:
    try:
        asked = session.resolve()
    except CtxError:
        return CatchUp()
    tree, name = asked.tree, asked.tree.hex()
    if session.snapshots.tree(tree) is not None:
        return CatchUp(tree=name, covered=True)
    if (partial := session.snapshots.current_partial(tree, session.repository)) is not None:
        return CatchUp(tree=name, missing=len(partial.missing))
    cost = plan(session, lambda: session.indexer, asked)
    return CatchUp(tree=name, new_blobs=cost.new_blobs, chunks=cost.chunks)


def _models(session: SearchSession) -> list[ModelStatus]:
    """Return the status of each model service, the current one first; a misconfigured one is not current."""
    sizes: Counter[str] = Counter()
    for file in inventory(session.store):
        sizes[file.group] += file.size
    found = {name: one for name in sizes if (one := _remote_descriptor(name)) is not None}
    if not found and not session.repository.settings.get("ctx.embedder.url"):
        return []
    try:
        now = session.embedding_model
    except UsageError:
        now = None
    if now is not None:
        found[str(now.descriptor)] = now.descriptor
    models = []
    for name, descriptor in found.items():
        values = recalled(session.store, name)
        configured = now is not None and descriptor == now.descriptor
        model = now.settings.model if now is not None and configured else None
        model = model or (values["model"] if values is not None else descriptor.embed_model_id)
        snapshots = Snapshots(session.store, name)
        clusters, done, truncated = _of_head(session, descriptor, snapshots)
        models.append(
            ModelStatus(
                model=model,
                descriptor=name,
                configured=configured,
                trees=[tree.hex() for tree in sorted(snapshots.trees())],
                clusters=clusters,
                done=done,
                truncated=truncated,
                size=sizes[name],
            )
        )
    return sorted(models, key=lambda one: (not one.configured, one.descriptor))


def _remote_descriptor(name: str) -> Descriptor | None:
    try:
        found = Descriptor.parse(name)
    except ValueError:
        return None
    # A foreign directory may have any name.
    is_ours = found.precision in BITS_A_DIMENSION and found.by_member and str(found) == name
    return found if is_ours else None


def _of_head(
    session: SearchSession, descriptor: Descriptor, snapshots: Snapshots
) -> tuple[int | None, int | None, int]:
    """Return the number of clusters of HEAD's tree, of those with vectors, and of truncated texts.

    The first two are None if unknown.
    """
    try:
        tree = session.resolve().tree
        root = snapshots.tree(tree)
        record = snapshots.node(root) if root is not None else None
        if record is not None:
            totals = record.totals
            return totals.clusters, totals.clusters, totals.skipped.get(TRUNCATED_TEXTS, 0)
        every = TreeReader(session.repository, str(descriptor)).root(tree).clusters()
        keys = [cluster.key for cluster in every]
    except CtxError:
        return None, None, 0
    return len(keys), len(keys) - len(ClusterStore(session.store, descriptor).absent(keys)), 0
