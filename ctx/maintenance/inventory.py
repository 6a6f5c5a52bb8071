"""List of the files of a store with their kinds, as given by their paths (docs/format.md).

No file is opened, so the content of a file may not match its kind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from ctx.models.model_files import CONFIRMED, JOURNAL, MODEL, PROBE, TRUNCATED
from ctx.ranking.correction import fit_path
from ctx.storage.store import Store
from ctx.storage.views.vectors import PREFIX as VECTORS


class Kind:
    """Kinds of files."""

    CLUSTER, NODE, TREE, LOG = "cluster", "node", "tree", "log"
    PARTIAL_CLUSTER, PARTIAL_TREE = "partial cluster", "partial tree"
    """Clusters and trees of which blobs are missing."""
    SEGMENT, VIEW, OVERLAY = "segment", "view", "overlay"
    """Files made with a model service are kept and removed like the segments of its descriptor."""
    BLOCK, BLOCK_VIEW = "commits", "commits-view"
    FIT = fit_path("")
    """Kind and name of the file that `ctx.fit` enables."""
    PIN, REQUEST, PACK, TEMPORARY, OWN, FOREIGN = "pin", "request", "pack", "temporary", "own", "foreign"


AREAS = ("objects", "partial", "snapshots", "views", "history", "packs", "tmp")
"""Directories of files that a collection may remove."""
OF_MODELS = (PROBE, MODEL, TRUNCATED)
"""Files that identify a model service and its request parameters."""
_GROUPED = ("objects", "partial", "snapshots", "views")
"""Areas with one directory for each descriptor."""
_OF_OTHERS = frozenset(("share.git", "words", "agents"))
"""Directories managed by other parts of git-ctx."""

_OWN = (
    "version|CACHEDIR[.]TAG|lock|at-work|collected|background|events|log|log[.]old|hooks-made|storage|asked"
    "|share[.]git[.]lock|remote[.]lock"
)
_KEY = "([0-9a-f]{2})/([0-9a-f]{38})"
_SPREAD_TREE = "([0-9a-f]{2})/([0-9a-f]{38}|[0-9a-f]{62})"
_TREE = "([0-9a-f]{40}|[0-9a-f]{64})"
_OF_REMOTE = "|".join(name.partition("-")[0] for name in (VECTORS, *OF_MODELS, CONFIRMED, JOURNAL))
_KINDS = [
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (f"objects/[^/]+/{_KEY}", Kind.CLUSTER),
        (f"partial/[^/]+/{_KEY}", Kind.PARTIAL_CLUSTER),
        (f"snapshots/[^/]+/nodes/{_KEY}", Kind.NODE),
        (f"snapshots/[^/]+/trees/{_SPREAD_TREE}", Kind.TREE),
        (f"snapshots/[^/]+/partial/{_SPREAD_TREE}", Kind.PARTIAL_TREE),
        (f"snapshots/[^/]+/log/{_TREE}", Kind.LOG),
        ("views/[^/]+/(view-[0-9a-f]+)", Kind.VIEW),
        ("views/[^/]+/(overlay-[0-9a-f]+)", Kind.OVERLAY),
        (f"views/[^/]+/((?:segment|{_OF_REMOTE})-[0-9a-f]+)", Kind.SEGMENT),
        (f"history/{_KEY}", Kind.BLOCK),
        ("history/views/(view-[0-9a-f]{40})", Kind.BLOCK_VIEW),
        (f"pins/{_TREE}", Kind.PIN),
        (f"wishes/{_TREE}", Kind.REQUEST),
        ("packs/.+", Kind.PACK),
        ("tmp/.+", Kind.TEMPORARY),
        (Kind.FIT, Kind.FIT),
        (f"documents/.+|{_OWN}|commands-[0-9]+[.]log(?:[.]old)?", Kind.OWN),
    )
]
"""Pattern of the paths of each kind; the groups of a pattern make up the name of a file."""


class StoreFile(NamedTuple):
    """A file; `group` is the name of its directory (a descriptor), `size` in bytes, `mtime` in seconds."""

    path: str
    kind: str
    group: str
    name: str
    size: int
    mtime: float

    @property
    def reference(self) -> tuple[str, str, str]:
        """Identification of a node, a cluster or a tree."""
        return self.kind, self.group, self.name


def inventory(store: Store) -> Iterator[StoreFile]:
    """Yield every file of a store in no particular order, except those managed by other parts."""
    for entry in _files(store.path, _OF_OTHERS):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # another process has replaced or removed it
            continue
        path = os.path.relpath(entry.path, store.path)
        area, *below = path.split(os.sep)
        group = below[0] if area in _GROUPED and len(below) > 1 else ""
        kind, name = Kind.FOREIGN, entry.name
        for pattern, known in _KINDS:
            if match := pattern.fullmatch(path):
                kind, name = known, "".join(match.groups()) or name
                break
        yield StoreFile(entry.path, kind, group, name, status.st_size, status.st_mtime)


def _files(folder: str, left_out: frozenset[str] = frozenset()) -> Iterator[os.DirEntry[str]]:
    """Yield the files below a directory, sorted by name in each directory."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in found:
        if entry.name in left_out:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path)
        else:
            yield entry
