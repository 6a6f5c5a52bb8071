"""`git ctx push` without its command line: indexes what is missing, and publishes snapshots on a remote.

They become one commit on top of the remote's; nothing is removed from the remote. After a lost race the new
tip is fetched and the commit put on top.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

import msgpack

from ctx.errors import BlobsMissing, CtxError, Damaged, RemoteFailed
from ctx.indexing.reports import INDEXING_IN_PROGRESS
from ctx.share import layout
from ctx.share.layers import Layer, layers_of
from ctx.share.layout import Published
from ctx.share.transport import ShareRepository
from ctx.share.words import Words
from ctx.storage.partition import PARTITION_VERSION
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_ATTEMPTS = 40
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 2.0
"""Maximum seconds to wait after a lost race; a random part of it, doubled each time."""

Trees = Mapping[bytes, list[tuple[bytes, "int | None"]]]
"""Trees to publish, covered by every layer, each with its commits and their committer times."""


class PushOptions(NamedTuple):
    """Revisions to publish, optionally with the tips of all local branches and all tags; HEAD by default.

    `words` also publishes the term counts of each chunk.
    """

    revisions: Sequence[str] = ()
    branches: bool = False
    tags: bool = False
    words: bool = False


class PushReport(NamedTuple):
    """Result of a push to `remote`; `size` is the bytes of the new files.

    `too_large` has the keys of clusters left out. `words` is the number of clusters whose words were
    published, `without_words` the keys of clusters whose words are not counted and whose files are missing
    here.
    """

    remote: str
    snapshots: int
    clusters: int
    words: int
    size: int
    attempts: int
    too_large: list[bytes]
    without_words: list[bytes]


def push(
    session: SearchSession,
    remote: str | None,
    options: PushOptions,
    *,
    announce: Callable[[str, bool], None] | None = None,
    may_ask: bool = True,
) -> PushReport:
    """Publish snapshots on a remote; index them first if needed.

    `announce` is called before an upload if this clone has not sent that kind of data to this remote before,
    with the name of the remote, and True if it includes words.

    Raises `RemoteFailed` with git's message, `BlobsMissing` if files of a tree are not in this clone, and
    `Damaged` if a local snapshot is incomplete.
    """
    share = ShareRepository(session.repository, session.store, remote, may_ask=may_ask)
    names: list[str | None] = list(options.revisions)
    for reference, _ in session.repository.references():
        if (options.branches and reference.startswith(b"refs/heads/")) or (
            options.tags and reference.startswith(b"refs/tags/")
        ):
            names.append(reference.decode("utf-8", "surrogateescape"))
    layers = layers_of(session)
    trees: dict[bytes, list[tuple[bytes, int | None]]] = {}
    for name in names or [None]:
        report = session.index(name, trigger="push")
        if report.skipped == INDEXING_IN_PROGRESS:
            # A background run holds the lock, perhaps for another tree and for long.
            session.indexer.cover(session.resolve(name), "push", progress=session.on_progress)
            report = session.index(name, trigger="push")
        tree = bytes.fromhex(report.tree)
        if session.snapshots.covered(tree) is None:
            raise BlobsMissing(
                f"files of {report.revision} are not in this clone, so it cannot be indexed as a whole: "
                "`git ctx index --fetch` of this revision gets them, then push again"
            )
        for layer in layers:
            if layer.model is not None and layer.snapshots.covered(tree) is None:
                raise CtxError(
                    f"another process embeds {report.revision} with {layer.model_name}: push again "
                    "when it has finished"
                )
        commits = trees.setdefault(tree, [])
        if report.commit:
            commit = bytes.fromhex(report.commit)
            commits.append((commit, session.repository.commit_info(commit).committer_time))
    sign = session.repository.settings.get_bool("commit.gpgSign", False)
    counted = (segment for _, segment in session.catalog.segments())
    words = Words(session, counted) if options.words else None
    with share.locked():
        return _Publisher(share, layers, words).publish(trees, sign=sign, announce=announce)


class _File(NamedTuple):
    """A file to publish: `make` returns its bytes.

    `better` maps the remote's bytes to their replacement, or None to keep them; it is None if the remote's
    file is always kept. `note` is called if the remote lacks the file and it cannot be made.
    """

    make: Callable[[], bytes | None]
    better: Callable[[bytes], bytes | None] | None = None
    note: Callable[[], object] = int


class _Publisher:
    """Publishes snapshots of all layers of one store on one remote."""

    def __init__(self, share: ShareRepository, layers: Sequence[Layer], words: Words | None = None) -> None:
        """Publish `words` too, if given."""
        self._share = share
        self._layers = layers
        self._words = words
        self._made: dict[str, bytes] = {}
        self._better: dict[tuple[str, str], bytes] = {}
        """Replacements by path and remote id, kept so that a lost race does not compare again."""
        self._too_large: dict[bytes, None] = {}
        self._without_words: dict[bytes, None] = {}

    def publish(
        self, trees: Trees, *, sign: bool = False, announce: Callable[[str, bool], None] | None = None
    ) -> PushReport:
        """Publish the snapshots of trees in every layer."""
        files = {path: file for layer in self._layers for path, file in self._files(layer, trees).items()}
        for attempt in range(1, _ATTEMPTS + 1):
            tip = self._share.fetch_tip()
            there = tip.files if tip is not None else {}
            for layer in self._layers:
                layer.check_model(self._share, there)
            new_files = self._missing(files, there)
            left_out = list(self._too_large), list(self._without_words)
            if not new_files:
                return PushReport(self._share.remote.shown, 0, 0, 0, 0, attempt, *left_out)
            snapshots = [(name, tree) for name, tree, _ in layout.published_trees(new_files)]
            new_files |= _notes(snapshots, there)
            size = sum(map(len, new_files.values()))
            words = _count(new_files, layout.WORDS)
            sent = [layout.SNAPSHOTS, *([layout.WORDS] if words else [])]
            if announce is not None and attempt == 1 and not all(map(self._share.has_sent, sent)):
                announce(self._share.remote.shown, bool(words))
            commit = self._share.commit(tip and tip.commit, new_files, _message(snapshots, words), sign=sign)
            pushed = self._share.push(commit)
            if pushed.landed and self._landed(commit, new_files):
                for what in sent:
                    self._share.note_sent(what, commit)
                self._share.agree(
                    self._share.blob_id(data)
                    for path, data in new_files.items()
                    if path in files and files[path].better
                )
                clusters = _count(new_files, layout.CLUSTERS)
                return PushReport(
                    self._share.remote.shown, len(snapshots), clusters, words, size, attempt, *left_out
                )
            if not pushed.landed and not pushed.raced:
                raise RemoteFailed(f"'{self._share.remote.shown}' refused {layout.REF}: {pushed.why}")
            wait_after(attempt)
        raise RemoteFailed(
            f"lost the race against other pushes to '{self._share.remote.shown}' {_ATTEMPTS} times: "
            "push again later"
        )

    def _landed(self, commit: str, files: Mapping[str, bytes]) -> bool:
        """Return True if the remote reports the pushed commit, or all its files."""
        if self._share.remote_tip() == commit:
            self._share.track(commit)
            return True
        tip = self._share.fetch_tip()
        return tip is not None and files.keys() <= tip.files.keys()

    def _files(self, layer: Layer, selected: Trees) -> dict[str, _File]:
        """Return all files of the snapshots of one layer by path, clusters first."""
        name = layer.name
        nodes: dict[str, _File] = {}
        clusters: dict[str, _File] = {}
        trees: dict[str, _File] = {}
        for tree, commits in selected.items():
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
                nodes[path] = _File(partial(layout.encode_shared, key, msgpack.packb(record)))
                open_ += record.nodes
                for cluster in record.clusters:
                    clusters |= self._of_cluster(layer, cluster)
            snapshot = Published(root, PARTITION_VERSION, int(time.time()), commits)
            trees[layout.tree_path(name, tree)] = _File(partial(layout.encode_published, tree, snapshot))
        reference = layer.model.reference if layer.model is not None and trees else None
        if reference is not None:
            trees[layout.probe_path(name)] = _File(partial(layout.encode_probe, reference))
        return clusters | nodes | trees

    def _of_cluster(self, layer: Layer, key: bytes) -> dict[str, _File]:
        """Return the file of a cluster, and that of its words if requested."""

        def make() -> bytes | None:
            payload = _payload(layer, key)
            return layout.encode_shared(key, payload) if len(payload) <= layout.LARGEST_BLOB else None

        too_large = partial(self._too_large.setdefault, key)
        files = {layout.cluster_path(layer.name, key): _File(make, partial(_better, layer, key), too_large)}
        if self._words is not None and layer.catalog is not None:
            files[layout.words_path(self._words.group, key)] = _File(
                partial(_make_words, self._words, key),
                partial(_better_words, self._words, layer, key),
                partial(self._without_words.setdefault, key),
            )
        return files

    def _missing(self, files: Mapping[str, _File], there: Mapping[str, str]) -> dict[str, bytes]:
        """Return the files that the remote lacks, or has in a worse form."""
        missing: dict[str, bytes] = {}
        others: dict[str, str] = {}
        agreed = self._share.agreed()
        same: list[str] = []
        for path, file in files.items():
            oid = there.get(path)
            if oid is None:
                data = self._made.get(path) or file.make()
                if data is None:
                    file.note()
                else:
                    missing[path] = self._made[path] = data
            elif (path, oid) in self._better:
                missing[path] = self._better[path, oid]
            elif file.better is not None and oid not in agreed:
                data = self._made.get(path) or file.make()
                if data is None:
                    continue
                if self._share.blob_id(data) == oid:
                    same.append(oid)
                else:
                    others[path] = oid
        self._share.fetch_blobs(others.values())
        for (path, oid), theirs in zip(others.items(), self._share.blobs(list(others.values())), strict=True):
            better = files[path].better
            assert better is not None, "only such files are compared"
            ours = better(theirs or b"")
            if ours is None:
                same.append(oid)
            else:
                missing[path] = self._better[path, oid] = ours
        self._share.agree(same)
        return missing


def _make_words(words: Words, key: bytes) -> bytes | None:
    try:
        return _words(words.known(key), key)
    except BlobsMissing:
        return None


def _count(paths: Iterable[str], area: str) -> int:
    return sum(path.startswith(f"{area}/") for path in paths)


def _message(trees: Sequence[tuple[str, bytes]], words: int) -> str:
    if trees:
        names = ", ".join(dict.fromkeys(name for name, _ in trees))
        what = f"{pluralize(len(trees), 'snapshot')} of {names}"
    else:
        what = f"the words of {pluralize(words, 'cluster')}" if words else "better clusters"
    return f"Publish {what}\n\n{push_id()}"


def _payload(layer: Layer, key: bytes) -> bytes:
    payload = layer.clusters.get(key)
    if payload is None:
        raise Damaged("a cluster is missing or damaged: run `git ctx fsck`, then push again")
    return payload


def _better(layer: Layer, key: bytes, theirs: bytes) -> bytes | None:
    """Return our cluster if theirs does not verify, or ours has the lower digest; else None."""
    own = _payload(layer, key)
    with suppress(Damaged):
        payload = layer.checked(key, theirs)
        if own == payload or sha256(payload).digest() < sha256(own).digest():
            return None
    return layout.encode_shared(key, own)


def _words(payload: bytes | None, key: bytes) -> bytes | None:
    """Return the file of the words of a cluster; None if there are no words or too many to share."""
    if payload is None or len(payload) > layout.LARGEST_BLOB:
        return None
    return layout.encode_shared(key, payload)


def _better_words(words: Words, layer: Layer, key: bytes, theirs: bytes) -> bytes | None:
    """Return our words if theirs do not fit, differ from a recount, or have a higher digest; else None."""
    try:
        payload, _ = layer.checked_words(key, theirs)
    except Damaged:
        return _words(words.known(key), key)
    try:
        true = words.recounted(key)
    except BlobsMissing:
        own = words.own(key)
        if own is None or sha256(payload).digest() <= sha256(own).digest():
            return None
        return _words(own, key)
    return None if payload == true else _words(true, key)


def _notes(trees: Sequence[tuple[str, bytes]], there: Mapping[str, str]) -> dict[str, bytes]:
    names: dict[bytes, set[str]] = {}
    for descriptor, tree in [*trees, *(found[:2] for found in layout.published_trees(there))]:
        names.setdefault(tree, set()).add(descriptor)
    return {layout.note_path(tree): layout.note(names[tree]) for _, tree in trees}


def push_id() -> str:
    """Return a random trailer that makes a commit unique.

    Equal trees pushed within one second would be the same commit, and git refuses to push a commit elsewhere
    that it fetched without its history.
    """
    return f"Push-Id: {random.randbytes(8).hex()}\n"


def wait_after(attempt: int, sleep: Callable[[float], None] = time.sleep) -> None:
    """Sleep after a lost race: a random time whose maximum doubles with each attempt."""
    sleep(random.uniform(0, min(_LONGEST_WAIT, _FIRST_WAIT * 2**attempt)))
