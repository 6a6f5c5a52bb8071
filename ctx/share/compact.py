"""Compaction: replace the shared ref by a commit without history that has only the selected snapshots.

Only compaction removes data from a remote. It replaces exactly the tip that it read.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import Damaged, RemoteFailed
from ctx.git.expiry import cutoff
from ctx.share import layout
from ctx.share.layout import Published
from ctx.share.push import push_id, wait_after
from ctx.share.transport import ShareRepository
from ctx.storage.snapshots import decode_node
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.search.session import SearchSession

_ATTEMPTS = 10
_TRAILER = "Epoch: "


class Keep(NamedTuple):
    """Snapshots to keep: those of the remote's branches or tags, and those of the `last` newest commits.

    `grace` as for `git ctx gc`: snapshots published since then are always kept.
    """

    branches: bool
    tags: bool
    last: int
    grace: str | None


class CompactReport(NamedTuple):
    """Number of snapshots kept and dropped, and of clusters dropped together with their words, on a remote.

    `strange` names descriptors that this program cannot read; all their files are kept.
    """

    remote: str
    kept: int
    dropped: int
    clusters: int
    strange: list[str]


def compact_remote(session: SearchSession, remote: str | None, keep: Keep) -> CompactReport:
    """Drop from a remote the snapshots that `keep` does not select, and the files that only they need.

    Raises `RemoteFailed`, also after too many lost races.
    """
    share = ShareRepository(session.repository, session.store, remote)
    since = cutoff(session.repository, keep.grace)
    sign = session.repository.settings.get_bool("commit.gpgSign", False)
    with share.locked():
        for attempt in range(1, _ATTEMPTS + 1):
            tip = share.fetch_tip()
            if tip is None:
                return CompactReport(share.remote.shown, 0, 0, 0, [])
            kept, report = _sift(share, session.repository, tip.files, keep, since)
            if not report.dropped:
                return report
            epoch = f"{_TRAILER}{_epoch(share, tip.commit) + 1}\n"
            message = f"Keep {pluralize(report.kept, 'snapshot')}\n\n{epoch}{push_id()}"
            pushed = share.push(share.commit(None, {}, message, keep=kept, sign=sign), lease=tip.commit)
            if pushed.landed:
                return report
            if not pushed.raced:
                raise RemoteFailed(f"'{share.remote.shown}' refused {layout.REF}: {pushed.why}")
            wait_after(attempt)
    raise RemoteFailed(
        f"lost the race against other pushes to '{share.remote.shown}' {_ATTEMPTS} times: "
        "run the command again later"
    )


def _epoch(share: ShareRepository, tip: str) -> int:
    for line in share.message(tip).splitlines():
        number = line.removeprefix(_TRAILER)
        if number != line and number.isdigit():
            return int(number)
    return 0


def _sift(
    share: ShareRepository, repository: Repository, there: Mapping[str, str], keep: Keep, since: float
) -> tuple[dict[str, str], CompactReport]:
    """Return the ids of the files to keep by path, and the report."""
    manifest = {path: oid for path, oid in there.items() if path.startswith(f"{layout.SNAPSHOTS}/")}
    share.fetch_blobs(manifest.values())
    contents = dict(zip(manifest, share.blobs(list(manifest.values())), strict=True))
    areas = (f"{layout.CLUSTERS}/", f"{layout.SNAPSHOTS}/")
    snapshots = list(layout.published_trees(there))
    strange = {path.split("/")[1] for path in there if path.startswith(areas)}
    strange -= {descriptor for descriptor, _, _ in snapshots}
    published: dict[str, Published] = {}
    for descriptor, tree, path in snapshots:
        try:
            published[path] = layout.decode_published(tree, contents[path] or b"")
        except Damaged:
            strange.add(descriptor)
    readable = [(tree, published[path]) for _, tree, path in snapshots if path in published]
    wanted = _wanted(share, repository, readable, keep, since)
    needed: dict[str, set[str]] = {}
    """Paths of the nodes and clusters of each kept snapshot."""
    for descriptor, tree, path in snapshots:
        if descriptor not in strange and tree in wanted:
            try:
                needed[path] = _below(descriptor, published[path].root, contents)
            except Damaged:
                strange.add(descriptor)
    files: set[str] = set().union(*needed.values())
    kept = [one for one in snapshots if one[0] in strange or one[2] in needed]
    for descriptor, tree, path in kept:
        files |= {path, layout.probe_path(descriptor), layout.note_path(tree)}
    foreign = tuple(f"{area}{descriptor}/" for descriptor in strange for area in areas)
    notes = {layout.note_path(tree) for _, tree, _ in snapshots}

    def stays(path: str) -> bool:
        # Words are kept or dropped with their cluster.
        path = layout.cluster_of_words(path) or path
        # Foreign files stay, such as notes by others.
        return path in files or path.startswith(foreign) or not (path.startswith(areas) or path in notes)

    staying = {path: oid for path, oid in there.items() if stays(path)}
    clusters = sum(path.startswith(f"{layout.CLUSTERS}/") for path in there.keys() - staying.keys())
    report = CompactReport(
        share.remote.shown, len(kept), len(snapshots) - len(kept), clusters, sorted(strange)
    )
    return staying, report


def _below(descriptor: str, root: bytes, contents: Mapping[str, bytes | None]) -> set[str]:
    """Return the paths of a snapshot's nodes and clusters. Raises `Damaged` if a node cannot be read."""
    found: set[str] = set()
    pending = [root]
    while pending:
        key = pending.pop()
        path = layout.node_path(descriptor, key)
        if path not in found:
            record = decode_node(layout.decode_shared(key, contents.get(path) or b""))
            found |= {path, *(layout.cluster_path(descriptor, cluster) for cluster in record.clusters)}
            pending += record.nodes
    return found


def _wanted(
    share: ShareRepository,
    repository: Repository,
    snapshots: Sequence[tuple[bytes, Published]],
    keep: Keep,
    since: float,
) -> set[bytes]:
    """Return the trees whose snapshots are kept."""
    tips = share.remote_commits(branches=keep.branches, tags=keep.tags)
    wanted = set()
    for tip in tips:
        with suppress(KeyError, Damaged):
            wanted.add(repository.commit_info(tip).tree)
    since = min(since, time.time())
    times: dict[bytes, int] = {}
    for tree, snapshot in snapshots:
        if snapshot.at >= since or not tips.isdisjoint(commit for commit, _ in snapshot.commits):
            wanted.add(tree)
        times[tree] = max(times.get(tree, 0), *(at or 0 for _, at in snapshot.commits), 0)
    newest = sorted(times, key=lambda tree: (times[tree], tree), reverse=True)
    return wanted.union(newest[: keep.last])
