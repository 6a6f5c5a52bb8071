"""Compaction: replace the shared ref by a commit without history that holds only the wanted snapshots.

Only compaction removes data from a remote. It replaces exactly the tip that it read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import Damaged, RemoteFailed
from ctx.git.expiry import cutoff
from ctx.share import layout
from ctx.share.layout import Published
from ctx.share.publish import push_id, wait_after
from ctx.share.remote import find_remote
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
    """Number of snapshots kept and dropped, and of clusters dropped together with their words.

    `strange` names descriptors that this program cannot read; all their files are kept.
    """

    kept: int
    dropped: int
    clusters: int
    strange: list[str]


def compact_remote(session: SearchSession, remote: str | None, keep: Keep) -> CompactReport:
    """Drop from a remote the snapshots that `keep` does not select, and the files that only they need.

    Raises `RemoteFailed`, also after too many lost races.
    """
    share = ShareRepository(session.repository, session.store, find_remote(session.repository, remote))
    since = cutoff(session.repository, keep.grace)
    sign = session.repository.settings.get_bool("commit.gpgSign", False)
    with share.locked():
        for attempt in range(1, _ATTEMPTS + 1):
            tip = share.fetch_tip()
            if tip is None:
                return CompactReport(0, 0, 0, [])
            kept, report = _sift(share, session.repository, tip.files, keep, since)
            if not report.dropped:
                return report
            epoch = f"{_TRAILER}{_epoch(share, tip.commit) + 1}\n"
            message = f"Keep {pluralize(report.kept, 'snapshot')}\n\n{epoch}{push_id()}"
            pushed = share.push(share.commit(None, {}, message, keep=kept, sign=sign), lease=tip.commit)
            if pushed.landed:
                return report
            if not pushed.raced:
                raise RemoteFailed(f"'{share.remote.name}' refused {layout.REF}: {pushed.why}")
            wait_after(attempt)
    raise RemoteFailed(f"lost the race against other pushes {_ATTEMPTS} times: run the command again later")


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
    snapshots = list(layout.published_trees(there))
    manifest = [path for path in there if path.startswith(f"{layout.SNAPSHOTS}/")]
    share.fetch_blobs(there[path] for path in manifest)
    contents = dict(zip(manifest, share.blobs([there[path] for path in manifest]), strict=True))
    strange: set[str] = {
        path.split("/")[1]
        for path in there
        if path.startswith((f"{layout.CLUSTERS}/", f"{layout.SNAPSHOTS}/"))
    }
    strange -= {descriptor for descriptor, _, _ in snapshots}
    read: dict[str, Published] = {}
    for descriptor, tree, path in snapshots:
        try:
            read[path] = layout.decode_published(tree, contents[path] or b"")
        except Damaged:
            strange.add(descriptor)
    wanted = _wanted(
        share, repository, [(tree, read[path]) for _, tree, path in snapshots if path in read], keep, since
    )
    files: set[str] = set()
    kept = 0
    for descriptor, tree, path in snapshots:
        if descriptor in strange or tree not in wanted:
            continue
        below = _below(descriptor, read[path].root, contents)
        if below is None:
            strange.add(descriptor)
            continue
        files |= {path, layout.probe_path(descriptor), *below}
        files.add(layout.note_path(tree))
        kept += 1
    for descriptor, tree, path in snapshots:
        if descriptor in strange:
            files |= {path, layout.note_path(tree)}
            kept += 1
    owned = tuple(f"{area}/{name}/" for name in strange for area in (layout.CLUSTERS, layout.SNAPSHOTS))
    notes = {layout.note_path(tree) for _, tree, _ in snapshots}
    ours = (f"{layout.CLUSTERS}/", f"{layout.SNAPSHOTS}/")

    def stays(path: str) -> bool:
        # Words are kept or dropped with their cluster.
        path = layout.cluster_of_words(path) or path
        # Foreign files stay, such as notes by others.
        return path in files or path.startswith(owned) or not (path.startswith(ours) or path in notes)

    staying = {path: oid for path, oid in there.items() if stays(path)}
    clusters = sum(path.startswith(f"{layout.CLUSTERS}/") for path in there.keys() - staying.keys())
    return staying, CompactReport(kept, len(snapshots) - kept, clusters, sorted(strange))


def _below(descriptor: str, root: bytes, contents: Mapping[str, bytes | None]) -> set[str] | None:
    """Return the paths of a snapshot's nodes and clusters; None if a node cannot be read."""
    found: set[str] = set()
    open_ = [root]
    while open_:
        key = open_.pop()
        path = layout.node_path(descriptor, key)
        if path in found:
            continue
        try:
            record = decode_node(layout.decode_shared(key, contents.get(path) or b""))
        except Damaged:
            return None
        found.add(path)
        found |= {layout.cluster_path(descriptor, cluster) for cluster in record.clusters}
        open_ += record.nodes
    return found


def _wanted(
    share: ShareRepository,
    repository: Repository,
    snapshots: Iterable[tuple[bytes, Published]],
    keep: Keep,
    since: float,
) -> set[bytes]:
    """Return the trees whose snapshots are kept."""
    snapshots = list(snapshots)
    tips = share.remote_commits(branches=keep.branches, tags=keep.tags)
    trees = set()
    for tip in tips:
        try:
            trees.add(repository.commit_info(tip).tree)
        except (KeyError, Damaged):
            continue
    wanted = {
        tree
        for tree, snapshot in snapshots
        if tree in trees
        or snapshot.at >= min(since, time.time())
        or tips & {one for one, _ in snapshot.commits}
    }
    newest = sorted(
        ((max((at or 0 for _, at in snapshot.commits), default=0), tree) for tree, snapshot in snapshots),
        reverse=True,
    )
    return wanted | {tree for _, tree in newest[: keep.last]}
