"""Where things lie in the tree of the shared ref, and what the files there hold.

docs/format.md describes them. Everything read here comes from a remote and is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

from ctx.errors import Damaged
from ctx.storage.store import decode_object, encode_object

if TYPE_CHECKING:
    from ctx.models.centre import Reference

REF = "refs/notes/ctx"
LARGEST_BLOB = 8 << 20
"""Bytes of a file under the ref at most, and of what it unpacks to: hosts refuse large ones."""
_LEVEL = 17
"""Of zstd. Higher ones take twice as long for a thousandth; git gains nothing by deltas on top of it."""
CLUSTERS, SNAPSHOTS, WORDS = "clusters", "snapshots", "words"
NODES, TREES, PROBE = "nodes", "trees", "probe"


class Published(NamedTuple):
    """A snapshot under the ref. `at` is when it was published, in seconds since 1970.

    `commits` are those that it was made for, with their committer times where they are known.
    """

    root: bytes
    partition: int
    at: int
    commits: list[tuple[bytes, int | None]]


def cluster_path(descriptor: str, key: bytes) -> str:
    """The file of a cluster."""
    return f"{CLUSTERS}/{descriptor}/{_spread(key)}"


def words_path(group: str, key: bytes) -> str:
    """The file of the words of a cluster; `group` is a descriptor and a version of the words layer."""
    return f"{WORDS}/{group}/{_spread(key)}"


def cluster_of_words(path: str) -> str | None:
    """The file of the cluster whose words lie under a path, None where the path is not of that form."""
    area, _, rest = path.partition("/")
    group, _, name = rest.partition("/")
    descriptor, _, version = group.rpartition("-w")
    return f"{CLUSTERS}/{descriptor}/{name}" if area == WORDS and version.isdigit() else None


def node_path(descriptor: str, key: bytes) -> str:
    """The file of a manifest node."""
    return f"{SNAPSHOTS}/{descriptor}/{NODES}/{_spread(key)}"


def tree_path(descriptor: str, tree: bytes) -> str:
    """The file of a snapshot."""
    return f"{SNAPSHOTS}/{descriptor}/{TREES}/{_spread(tree)}"


def probe_path(descriptor: str) -> str:
    """The file of what a remote model said to a fixed text."""
    return f"{SNAPSHOTS}/{descriptor}/{PROBE}"


def note_path(tree: bytes) -> str:
    """The note on a tree, where `git notes` looks for it."""
    return _spread(tree)


def _spread(name: bytes) -> str:
    return f"{name.hex()[:2]}/{name.hex()[2:]}"


def published_trees(paths: Iterable[str]) -> Iterator[tuple[str, bytes, str]]:
    """Descriptor, tree and path of every snapshot among the paths of the ref."""
    for path in paths:
        parts = path.split("/")
        if len(parts) == 5 and parts[0] == SNAPSHOTS and parts[2] == TREES:
            try:
                yield parts[1], bytes.fromhex(parts[3] + parts[4]), path
            except ValueError:
                continue


def note(descriptors: Iterable[str]) -> bytes:
    """What people read at a tree: under which descriptors its index is here."""
    lines = "".join(f"{descriptor}\n" for descriptor in sorted(set(descriptors)))
    return f"git-ctx has an index of this tree; `git ctx fetch` takes it.\n{lines}".encode()


def encode_shared(name: bytes, payload: bytes) -> bytes:
    """The file of a payload under its name, compressed: that packs smaller than what git does by itself."""
    return encode_object(name.hex(), payload, level=_LEVEL)


def decode_shared(name: bytes, data: bytes) -> bytes:
    """The payload of a file under the ref. Raises `Damaged`, also where it is larger than we make them."""
    if len(data) > LARGEST_BLOB:
        raise Damaged(f"it has {len(data):,} bytes, {LARGEST_BLOB:,} are the most")
    return decode_object(name.hex(), data, LARGEST_BLOB)


def encode_published(tree: bytes, snapshot: Published) -> bytes:
    """The file of a snapshot."""
    return encode_shared(tree, msgpack.packb(tuple(snapshot)))


def decode_published(tree: bytes, data: bytes) -> Published:
    """Raises `Damaged` for what is none."""
    try:
        root, partition, at, commits = msgpack.unpackb(decode_shared(tree, data))
        found = Published(root, partition, at, [(commit, time) for commit, time in commits])
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Damaged(f"a snapshot cannot be read: {error}") from error
    times = [time for _, time in found.commits if time is not None]
    if not (
        isinstance(root, bytes)
        and len(root) == 20
        and all(map(_is_number, [partition, at, *times]))
        and all(isinstance(commit, bytes) for commit, _ in found.commits)
    ):
        raise Damaged("a snapshot holds a value of a wrong type")
    return found


def encode_probe(reference: Reference) -> bytes:
    """The file of what a model said to fixed texts."""
    return encode_object(PROBE, b"".join(one.astype("<f4").tobytes() for one in reference))


def decode_probe(data: bytes, dimensions: int) -> Reference:
    """Raises `Damaged` for what is none."""
    import numpy as np

    from ctx.models.centre import Reference
    from ctx.models.precision import truncated

    payload = decode_object(PROBE, data, LARGEST_BLOB)
    if len(payload) != 8 * dimensions:
        raise Damaged("what a model said to fixed texts cannot be read")
    probe, centre = np.frombuffer(payload, dtype="<f4").astype(np.float32).reshape(2, dimensions)
    if not np.isfinite(probe).all() or not np.isfinite(centre).all() or not probe.any():
        raise Damaged("what a model said to fixed texts holds no numbers")
    return Reference(truncated(probe[None], dimensions)[0], centre)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and value >= 0
