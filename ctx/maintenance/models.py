"""Status of the data of remote models, current and previous. No request is sent."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ctx.errors import CtxError, UsageError
from ctx.indexing.tree_walk import TreeReader
from ctx.maintenance.inventory import inventory
from ctx.models.model_files import TRUNCATED_TEXTS
from ctx.models.previous import recalled
from ctx.storage.cluster_store import ClusterStore
from ctx.storage.descriptor import Descriptor
from ctx.storage.snapshots import Snapshots
from ctx.storage.vectors import BITS_A_DIMENSION
from ctx.types import ModelStatus

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


def models_of(session: SearchSession) -> list[ModelStatus]:
    """Return the status of each remote model, the current one first; a misconfigured one is not current."""
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
        clusters, done, cut = _of_head(session, descriptor, snapshots)
        trees = sorted(snapshots.trees())
        models.append(ModelStatus(model, name, configured, trees, clusters, done, cut, sizes[name]))
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
