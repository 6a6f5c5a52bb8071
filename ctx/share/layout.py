"""Paths in the tree of the shared ref, and the formats of the files there (docs/format.md).

All data decoded here comes from a remote and is validated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

from ctx.errors import Damaged, Decoding
from ctx.storage.store import decode_object, encode_object

if TYPE_CHECKING:
    from ctx.models.centre import Reference

REF = "refs/notes/ctx"
LARGEST_BLOB = 8 << 20
"""Maximum bytes of a file under the ref, packed and unpacked: hosts refuse large ones."""
_LEVEL = 17
"""zstd level. Higher ones take twice as long to save 0.1 %; git deltas save nothing on top."""
CLUSTERS, SNAPSHOTS, WORDS = "clusters", "snapshots", "words"
NODES, TREES, PROBE = "nodes", "trees", "probe"


class Published(NamedTuple):
    """A snapshot under the ref. `at` is the time of publication, in seconds since 1970.

    `commits` are those it was made for, with their committer times if known.
    """

    root: bytes
    partition: int
    at: int
    commits: list[tuple[bytes, int | None]]


def cluster_path(descriptor: str, key: bytes) -> str:
    """Return the path of a cluster."""
    return f"{CLUSTERS}/{descriptor}/{_spread(key)}"


def words_path(group: str, key: bytes) -> str:
    """Return the path of a cluster's words; `group` is a descriptor and a version of the words layer."""
    return f"{WORDS}/{group}/{_spread(key)}"


def cluster_of_words(path: str) -> str | None:
    """Return the path of the cluster for a path of words; None for other paths."""
    area, _, rest = path.partition("/")
    group, _, name = rest.partition("/")
    descriptor, _, version = group.rpartition("-w")
    return f"{CLUSTERS}/{descriptor}/{name}" if area == WORDS and version.isdigit() else None


def node_path(descriptor: str, key: bytes) -> str:
    """Return the path of a manifest node."""
    return f"{SNAPSHOTS}/{descriptor}/{NODES}/{_spread(key)}"


def tree_path(descriptor: str, tree: bytes) -> str:
    """Return the path of a snapshot."""
    return f"{SNAPSHOTS}/{descriptor}/{TREES}/{_spread(tree)}"


def probe_path(descriptor: str) -> str:
    """Return the path of a model's embeddings of fixed texts."""
    return f"{SNAPSHOTS}/{descriptor}/{PROBE}"


def note_path(tree: bytes) -> str:
    """Return the path of the note on a tree, as `git notes` expects it."""
    return _spread(tree)


def _spread(name: bytes) -> str:
    return f"{name.hex()[:2]}/{name.hex()[2:]}"


def published_trees(paths: Iterable[str]) -> Iterator[tuple[str, bytes, str]]:
    """Yield descriptor, tree and path of every snapshot among the paths of the ref."""
    for path in paths:
        parts = path.split("/")
        if len(parts) == 5 and parts[0] == SNAPSHOTS and parts[2] == TREES:
            try:
                yield parts[1], bytes.fromhex(parts[3] + parts[4]), path
            except ValueError:
                continue


def note(descriptors: Iterable[str]) -> bytes:
    """Return the text of the note on a tree: the descriptors of its snapshots."""
    lines = "".join(f"{descriptor}\n" for descriptor in sorted(set(descriptors)))
    return f"git-ctx has an index of this tree; `git ctx fetch` takes it.\n{lines}".encode()


def encode_shared(name: bytes, payload: bytes) -> bytes:
    """Return the file of a payload under its name, compressed smaller than git would."""
    return encode_object(name.hex(), payload, level=_LEVEL)


def decode_shared(name: bytes, data: bytes) -> bytes:
    """Return the payload of a file under the ref. Raises `Damaged`, also above `LARGEST_BLOB`."""
    if len(data) > LARGEST_BLOB:
        raise Damaged(f"it has {len(data):,} bytes, more than {LARGEST_BLOB:,}")
    return decode_object(name.hex(), data, LARGEST_BLOB)


def encode_published(tree: bytes, snapshot: Published) -> bytes:
    """Return the file of a snapshot."""
    return encode_shared(tree, msgpack.packb(tuple(snapshot)))


@Decoding("a snapshot")
def decode_published(tree: bytes, data: bytes) -> Published:
    """Return the snapshot in a file. Raises `Damaged`."""
    root, partition, at, commits = msgpack.unpackb(decode_shared(tree, data))
    found = Published(root, partition, at, [(commit, time) for commit, time in commits])
    times = [time for _, time in found.commits if time is not None]
    if not (
        isinstance(root, bytes)
        and len(root) == 20
        and all(map(_is_number, [partition, at, *times]))
        and all(isinstance(commit, bytes) for commit, _ in found.commits)
    ):
        raise Damaged("a snapshot has a value of a wrong type")
    return found


def encode_probe(reference: Reference) -> bytes:
    """Return the file of a model's embeddings of fixed texts."""
    return encode_object(PROBE, b"".join(one.astype("<f4").tobytes() for one in reference))


@Decoding("a model's embeddings of fixed texts")
def decode_probe(data: bytes, dimensions: int) -> Reference:
    """Return a model's embeddings of fixed texts. Raises `Damaged`."""
    import numpy as np

    from ctx.models.centre import Reference
    from ctx.models.precision import truncated

    payload = decode_object(PROBE, data, LARGEST_BLOB)
    if len(payload) != 8 * dimensions:
        raise Damaged("a model's embeddings of fixed texts have a wrong length")
    probe, centre = np.frombuffer(payload, dtype="<f4").astype(np.float32).reshape(2, dimensions)
    if not np.isfinite(probe).all() or not np.isfinite(centre).all() or not probe.any():
        raise Damaged("a model's embeddings of fixed texts are zero or not finite")
    return Reference(truncated(probe[None], dimensions)[0], centre)


def _is_number(value: Any) -> bool:
    return type(value) is int and value >= 0
