"""Publishing snapshots: one commit on top of what the remote has, again until it lands.

Nothing that the remote has is taken away; where others were quicker, theirs is fetched and ours put on top.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import msgpack

from ctx.errors import Damaged, RemoteFailed
from ctx.partition import PARTITION_VERSION
from ctx.share import layout
from ctx.share.layers import Layer, insist_on_same_model
from ctx.share.layout import Published
from ctx.share.transport import ShareRepository

_ATTEMPTS = 40
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
"""Seconds to wait at most after a lost race; a random part of it, doubled each time."""


class Selected(NamedTuple):
    """A tree to publish, covered by its layer, with the commit that it is for and its committer time."""

    layer: Layer
    tree: bytes
    commit: bytes | None
    committer_time: int | None


class PushReport(NamedTuple):
    """What a push did; `size` is the bytes of the new files, `too_large` the keys of clusters left out."""

    snapshots: int
    clusters: int
    size: int
    attempts: int
    too_large: list[bytes]


class Publisher:
    """Puts snapshots of one store on one remote, those of all its layers at once."""

    def __init__(self, share: ShareRepository, layers: Sequence[Layer]) -> None:
        self._share = share
        self._layers = {layer.name: layer for layer in layers}

    def publish(
        self,
        selected: Sequence[Selected],
        *,
        sign: bool = False,
        announce: Callable[[int], None] | None = None,
    ) -> PushReport:
        """Bring the remote to have all of the selected snapshots.

        Raises `RemoteFailed` with git's words, and `Damaged` where a snapshot is not whole here.
        """
        files: dict[str, bytes] = {}
        too_large: list[bytes] = []
        for layer in self._layers.values():
            files |= self._files(layer, [one for one in selected if one.layer is layer], too_large)
        met = self._share.has_met()
        for attempt in range(1, _ATTEMPTS + 1):
            tip = self._share.fetch_tip()
            there = self._share.listing(tip) if tip is not None else {}
            for layer in self._layers.values():
                insist_on_same_model(self._share, layer, there)
            new_files = self._lacking(files, there)
            if not new_files:
                return PushReport(0, 0, 0, attempt, too_large)
            trees = [(name, tree) for name, tree, _ in layout.published_trees(new_files)]
            new_files |= _notes(trees, there)
            names = ", ".join(dict.fromkeys(name for name, _ in trees))
            message = f"Publish {len(trees)} snapshots of {names}\n\n{push_id()}"
            if announce is not None and not met and attempt == 1:
                announce(sum(map(len, new_files.values())))
            commit = self._share.commit(tip, new_files, message, sign=sign)
            pushed = self._share.push(commit)
            if pushed.landed and self._landed(commit, new_files):
                clusters = sum(path.startswith(layout.CLUSTERS) for path in new_files)
                size = sum(map(len, new_files.values()))
                return PushReport(len(trees), clusters, size, attempt, too_large)
            if not pushed.landed and not pushed.raced:
                raise RemoteFailed(f"'{self._share.remote.name}' refused {layout.REF}: {pushed.why}")
            wait_after(attempt)
        raise RemoteFailed(
            f"others were quicker {_ATTEMPTS} times at '{self._share.remote.name}': push again in a while"
        )

    def _landed(self, commit: str, files: Mapping[str, bytes]) -> bool:
        """Whether the remote has what was pushed, as it says itself."""
        if self._share.remote_tip() == commit:
            self._share.track(commit)
            return True
        tip = self._share.fetch_tip()
        return tip is not None and files.keys() <= self._share.listing(tip).keys()

    def _files(self, layer: Layer, selected: Sequence[Selected], too_large: list[bytes]) -> dict[str, bytes]:
        """All files of snapshots of one layer by their paths, clusters first; `too_large` is added to."""
        name = layer.name
        nodes: dict[str, bytes] = {}
        clusters: dict[str, bytes] = {}
        trees: dict[str, bytes] = {}
        commits: dict[bytes, list[tuple[bytes, int | None]]] = {}
        for one in selected:
            known = commits.setdefault(one.tree, [])
            if one.commit is not None:
                known.append((one.commit, one.committer_time))
        for tree, of_commits in commits.items():
            root = layer.snapshots.tree(tree)
            if root is None:
                raise Damaged(f"the tree {tree.hex()} has no snapshot: `git ctx index {tree.hex()}` makes it")
            open_ = [root]
            while open_:
                key = open_.pop()
                path = layout.node_path(name, key)
                if path in nodes:
                    continue
                record = layer.snapshots.node(key)
                if record is None:
                    raise Damaged("a manifest node is missing: run `git ctx fsck`, then push again")
                nodes[path] = layout.encode_shared(key, msgpack.packb(record))
                open_ += record.nodes
                for cluster in record.clusters:
                    data = _cluster(layer, cluster)
                    if len(data) > layout.LARGEST_BLOB:
                        too_large.append(cluster)
                    else:
                        clusters[layout.cluster_path(name, cluster)] = data
            snapshot = Published(root, PARTITION_VERSION, int(time.time()), of_commits)
            trees[layout.tree_path(name, tree)] = layout.encode_published(tree, snapshot)
        reference = layer.model.reference if layer.model is not None and trees else None
        if reference is not None:
            trees[layout.probe_path(name)] = layout.encode_probe(reference)
        return clusters | nodes | trees

    def _lacking(self, files: Mapping[str, bytes], there: Mapping[str, str]) -> dict[str, bytes]:
        """What the remote lacks, or has in another form that is worse than ours."""
        lacking = {path: data for path, data in files.items() if path not in there}
        # The file of a snapshot says when it was published: the first one stays.
        others = {
            path: there[path]
            for path, data in files.items()
            if path in there and path.startswith(layout.CLUSTERS) and self._share.blob_id(data) != there[path]
        }
        self._share.fetch_blobs(others.values())
        for path, theirs in zip(others, self._share.blobs(list(others.values())), strict=True):
            if theirs is None or self._ours_wins(path, files[path], theirs):
                lacking[path] = files[path]
        return lacking

    def _ours_wins(self, path: str, ours: bytes, theirs: bytes) -> bool:
        """Of two clusters under one key the one that verifies, then the one with the lower digest."""
        key = bytes.fromhex("".join(path.split("/")[-2:]))
        try:
            payload = self._layers[path.split("/")[1]].checked(key, theirs)
        except Damaged:
            return True
        own = layout.decode_shared(key, ours)
        return own != payload and sha256(own).digest() < sha256(payload).digest()


def _cluster(layer: Layer, key: bytes) -> bytes:
    payload = layer.clusters.get(key)
    if payload is None:
        raise Damaged("a cluster is missing or damaged: run `git ctx fsck`, then push again")
    return layout.encode_shared(key, payload)


def _notes(trees: Sequence[tuple[str, bytes]], there: Mapping[str, str]) -> dict[str, bytes]:
    names: dict[bytes, set[str]] = {}
    for descriptor, tree in [*trees, *(found[:2] for found in layout.published_trees(there))]:
        names.setdefault(tree, set()).add(descriptor)
    return {layout.note_path(tree): layout.note(names[tree]) for _, tree in trees}


def push_id() -> str:
    """A trailer that makes a commit unlike any other.

    Equal trees pushed in one second would be one commit, and where that was fetched without its history git
    refuses to push it elsewhere.
    """
    return f"Push-Id: {random.randbytes(8).hex()}\n"


def wait_after(attempt: int, sleep: Callable[[float], None] = time.sleep) -> None:
    """Let others go first after a lost race: twice as long each time, and never as long as they do."""
    sleep(random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)))
