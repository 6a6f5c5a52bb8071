"""Partition of a tree into clusters by names, modes, object ids and path rules.

This module never reads a blob, so every clone computes the same keys. A directory of at most sixteen files,
including subdirectories, is one cluster. The entries of a larger one are split into runs at boundaries chosen
by the hashes of their names, so that adding or removing a file changes one run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from ctx.chunking.languages import language_of, linguist_name_to_language
from ctx.git.formats import DIRECTORY_MODE, TreeEntry
from ctx.storage.cluster_key import Member, cluster_key

if TYPE_CHECKING:
    from ctx.git.path_rules import PathRules

PARTITION_VERSION = 3
"""Version of the partition. Increase it when files, languages or boundaries are chosen differently.

It is part of the node key, so that nodes stored by another version are not reused.
"""
SMALL = 16
"""Subtrees of at most this many files are never split."""
_TYPICAL_RUN = 12
_LONGEST_RUN = 24
_DEEPEST_NODE = 100
"""Maximum depth of nodes; deeper subtrees are one flat list of files, which bounds the recursion."""


class Cluster(NamedTuple):
    """A few files of one subtree, and the key of their stored data."""

    key: bytes
    members: tuple[Member, ...]


class Node(NamedTuple):
    """A directory of more than SMALL files, or the root. The key is known before `read` is called.

    `read` caches its result.
    """

    key: bytes
    path: bytes
    read: Callable[[], Content]

    def walk(self, is_known: Callable[[bytes], bool] = lambda key: False) -> Iterator[tuple[Node, Content]]:
        """Yield this node and those below it with their contents, parents first, in order of the manifest.

        Nodes whose key `is_known`, and everything below them, are left out.
        """
        pending = [self]
        while pending:
            node = pending.pop()
            if not is_known(node.key):
                content = node.read()
                yield node, content
                pending += reversed(content.nodes)

    def clusters(self) -> Iterator[Cluster]:
        """Yield all clusters of the tree, stored or not."""
        for _, content in self.walk():
            yield from content.clusters


class Content(NamedTuple):
    """Contents of a directory: large subdirectories, clusters, and counts of skipped files by reason."""

    nodes: list[Node]
    clusters: list[Cluster]
    skipped: dict[str, int]


def root_node(
    descriptor: str,
    tree: bytes,
    rules: Callable[[Sequence[TreeEntry]], PathRules],
    entries_of: Callable[[bytes], Sequence[TreeEntry]],
    fetch: Callable[[Sequence[bytes]], None] = lambda trees: None,
) -> Node:
    """Return the node of a root tree.

    `rules` creates the root's rules from its entries. `fetch` is called with the trees that `entries_of` will
    be called with.
    """
    entries = entries_of(tree)
    return _Walk(descriptor, entries_of, fetch).node(b"", tree, rules(entries), entries, 0)


class _Subtree:
    """A subdirectory whose files are being listed, each with its path and the rules there.

    `read` holds directories whose entries have been read, `left` those still to be read.
    """

    def __init__(self, entry: TreeEntry, entries: Sequence[TreeEntry], rules: PathRules) -> None:
        self.entries = entries
        self.rules = rules.enter(entry.name, entries)
        self.files: list[tuple[bytes, TreeEntry, PathRules]] = []
        self.read: list[tuple[bytes, Sequence[TreeEntry], PathRules]] = [(b"", entries, self.rules)]
        self.left: list[tuple[bytes, TreeEntry, PathRules]] = []
        self.is_large = False

    def list_files(self, limit: int | None) -> None:
        """Collect the files of the directories in `read`, until there are more than `limit`."""
        for path, entries, rules in self.read:
            for entry in entries:
                (self.left if entry.mode == DIRECTORY_MODE else self.files).append((path, entry, rules))
            if limit is not None and len(self.files) > limit:
                self.is_large = True
                break
        self.read = []


class _Walk:
    def __init__(
        self,
        descriptor: str,
        entries_of: Callable[[bytes], Sequence[TreeEntry]],
        fetch: Callable[[Sequence[bytes]], None],
    ) -> None:
        self._descriptor = descriptor
        self._entries_of = entries_of
        self._fetch = fetch

    def node(
        self, path: bytes, tree: bytes, rules: PathRules, entries: Sequence[TreeEntry], depth: int
    ) -> Node:
        digest = blake2b(b"node\0%d\0%s\0" % (PARTITION_VERSION, self._descriptor.encode()), digest_size=20)
        digest.update(b"%d %s%s\0" % (len(tree), tree, rules.digest) + path)
        return Node(digest.digest(), path, cache(lambda: self._content(path, rules, entries, depth)))

    def _content(self, path: bytes, rules: PathRules, entries: Sequence[TreeEntry], depth: int) -> Content:
        nodes: list[Node] = []
        skipped: dict[str, int] = {}
        items: list[tuple[bytes, int, list[Member]]] = []
        trees = [entry for entry in entries if entry.mode == DIRECTORY_MODE]
        self._fetch([entry.oid for entry in trees])
        subtrees = [_Subtree(entry, self._entries_of(entry.oid), rules) for entry in trees]
        self._gather(subtrees, SMALL if depth < _DEEPEST_NODE else None)
        following = iter(subtrees)
        for entry in entries:
            if entry.mode != DIRECTORY_MODE:
                items.append((entry.name, 1, self._files(path, [(b"", entry, rules)], skipped)))
                continue
            subtree = next(following)
            below = path + entry.name + b"/"
            if subtree.is_large:
                nodes.append(self.node(below, entry.oid, subtree.rules, subtree.entries, depth + 1))
                continue
            subtree.files.sort(key=lambda file: file[0] + file[1].name)
            if len(subtree.files) > SMALL:
                for file in subtree.files:
                    name = entry.name + b"/" + file[0] + file[1].name
                    items.append((name, 1, self._files(below, [file], skipped)))
            elif subtree.files:
                items.append((entry.name, len(subtree.files), self._files(below, subtree.files, skipped)))
        clusters = []
        for run in _runs(items):
            members = tuple(member for _, _, files in run for member in files)
            if members:
                clusters.append(Cluster(cluster_key(self._descriptor, members), members))
        return Content(nodes, clusters, skipped)

    def _gather(self, subtrees: Sequence[_Subtree], limit: int | None) -> None:
        """List the files below each subtree, or mark it as large if there are more than `limit`.

        All subtrees descend level by level, so that trees are fetched in a few large batches.
        """
        pending = list(subtrees)
        while pending:
            for subtree in pending:
                subtree.list_files(limit)
            pending = [subtree for subtree in pending if subtree.left and not subtree.is_large]
            # Read only as many trees as can make a subtree large.
            most = None if limit is None else limit + 1
            wanted = [(subtree, subtree.left[:most]) for subtree in pending]
            self._fetch([entry.oid for _, below in wanted for _, entry, _ in below])
            for subtree, below in wanted:
                for path, entry, rules in below:
                    inner = self._entries_of(entry.oid)
                    subtree.read.append((path + entry.name + b"/", inner, rules.enter(entry.name, inner)))
                del subtree.left[: len(below)]

    def _files(
        self, path: bytes, files: Sequence[tuple[bytes, TreeEntry, PathRules]], skipped: dict[str, int]
    ) -> list[Member]:
        members = []
        for below, entry, rules in files:
            reason = rules.judge(entry.name, entry.mode)
            if reason is not None:
                skipped[reason] = skipped.get(reason, 0) + 1
                continue
            named = rules.language(entry.name)
            language = linguist_name_to_language(named) if named else language_of(entry.name)
            members.append(Member(path + below + entry.name, entry.mode, entry.oid, language))
        return members


def _runs(items: list[tuple[bytes, int, list[Member]]]) -> Iterator[list[tuple[bytes, int, list[Member]]]]:
    """Split the items (name, number of files, members) of a directory into runs of about a dozen files."""
    if sum(count for _, count, _ in items) <= SMALL:
        yield items
        return
    run: list[tuple[bytes, int, list[Member]]] = []
    for item in items:
        run.append(item)
        if _name_hash(item[0]) * _TYPICAL_RUN < item[1] << 32:
            yield from _bounded(run)
            run = []
    yield from _bounded(run)


def _bounded(run: list[tuple[bytes, int, list[Member]]]) -> Iterator[list[tuple[bytes, int, list[Member]]]]:
    """Split a run that is too long after the item with the lowest name hash, repeatedly.

    One pass over the items in hash order makes the same cuts: an item of the same part with a lower hash was
    not cut after, because it is the last one there.
    """
    until = [0, *accumulate(count for _, count, _ in run)]
    cuts = [0, len(run)]
    if until[-1] > _LONGEST_RUN:
        for place in sorted(range(len(run)), key=lambda i: _name_hash(run[i][0])):
            part = bisect_right(cuts, place)
            if place + 1 < cuts[part] and until[cuts[part]] - until[cuts[part - 1]] > _LONGEST_RUN:
                cuts.insert(part, place + 1)
    for start, end in pairwise(cuts):
        if start < end:
            yield run[start:end]


def _name_hash(name: bytes) -> int:
    return int.from_bytes(blake2b(name, digest_size=4).digest(), "big")
