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
from ctx.storage.document_index import AREA as DOCUMENTS
from ctx.storage.store import Store
from ctx.storage.views.vectors import PREFIX as VECTORS

CLUSTER, NODE, TREE, LOG = "cluster", "node", "tree", "log"
PARTIAL_CLUSTER, PARTIAL_TREE = "partial cluster", "partial tree"
"""Kinds for clusters and trees of which blobs are missing."""
SEGMENT, VIEW, OVERLAY = "segment", "view", "overlay"
BLOCK, BLOCK_VIEW = "commits", "commits-view"
PIN, WISH, PACK, TEMPORARY, OWN, FOREIGN = "pin", "wish", "pack", "temporary", "own", "foreign"
FIT = fit_path("")
"""Kind and name of the file that `ctx.fit` enables."""

PARTIAL = "partial"
OBJECTS, SNAPSHOTS, VIEWS, TMP, PINS, WISHES = "objects", "snapshots", "views", "tmp", "pins", "wishes"
HISTORY = "history"
PACKS = "packs"

_OWN = frozenset(
    (
        "version",
        "CACHEDIR.TAG",
        "lock",
        "at-work",
        "collected",
        "background",
        "events",
        "log",
        "log.old",
        "hooks-made",
        "storage",
        "asked",
        "share.git.lock",
        "remote.lock",
    )
)
_COMMANDS = re.compile(r"commands-[0-9]+\.log(?:\.old)?")
"""Names of the logs of `ctx.maintenance.local_log`."""
_OF_OTHERS = frozenset(("share.git", "words", "agents"))
"""Directories managed by other parts of git-ctx."""
OF_MODELS = (PROBE, MODEL, TRUNCATED)
"""Files that identify a remote model and its request parameters."""
_HEX = re.compile("(?:[0-9a-f]{2})+")
_KEY_LETTERS = 40
_TREE_LETTERS = (40, 64)
_COMMITS_VIEW = re.compile(r"view-[0-9a-f]{40}")
_KINDS = {"view": VIEW, "overlay": OVERLAY, "segment": SEGMENT} | {
    name.partition("-")[0]: SEGMENT for name in (VECTORS, *OF_MODELS, CONFIRMED, JOURNAL)
}
"""Files made with a remote model are kept and removed like the segments of its descriptor."""
_OF_SNAPSHOTS = {"nodes": NODE, "trees": TREE, "partial": PARTIAL_TREE}
_VIEW_FILE = re.compile(rf"({'|'.join(_KINDS)})-([0-9a-f]+)")


class Stored(NamedTuple):
    """A file; `group` is the name of its directory (a descriptor), `size` in bytes, `mtime` in seconds."""

    path: str
    kind: str
    group: str
    name: str
    size: int
    mtime: float


def inventory(store: Store) -> Iterator[Stored]:
    """Yield every file of a store in no particular order, except those managed by other parts."""
    for entry in _entries(store.path):
        if entry.name in _OF_OTHERS:
            continue
        if not entry.is_dir(follow_symlinks=False):
            own = entry.name in _OWN or _COMMANDS.fullmatch(entry.name)
            kind = FIT if entry.name == FIT else OWN if own else FOREIGN
            yield from _found(entry, kind, "", entry.name)
        elif entry.name == TMP:
            yield from _all(entry.path, TEMPORARY)
        elif entry.name in (PINS, WISHES):
            yield from _named(entry.path, PIN if entry.name == PINS else WISH, "")
        elif entry.name == DOCUMENTS:
            yield from _all(entry.path, OWN)
        elif entry.name == HISTORY:
            yield from _history(entry.path)
        elif entry.name == PACKS:
            yield from _all(entry.path, PACK)
        elif entry.name in (OBJECTS, PARTIAL, SNAPSHOTS, VIEWS):
            for group in _entries(entry.path):
                if not group.is_dir(follow_symlinks=False):
                    yield from _found(group, FOREIGN, "", group.name)
                else:
                    yield from _group(entry.name, group)
        else:
            yield from _all(entry.path, FOREIGN)


def _group(area: str, group: os.DirEntry[str]) -> Iterator[Stored]:
    """Yield the files of one descriptor in one area."""
    if area in (OBJECTS, PARTIAL):
        yield from _spread(group.path, CLUSTER if area == OBJECTS else PARTIAL_CLUSTER, group.name)
        return
    for entry in _entries(group.path):
        folder = entry.is_dir(follow_symlinks=False)
        if area == VIEWS:
            match = _VIEW_FILE.fullmatch(entry.name)
            if folder:
                yield from _all(entry.path, FOREIGN)
            else:
                yield from _found(entry, _KINDS[match[1]] if match else FOREIGN, group.name, entry.name)
        elif folder and entry.name in _OF_SNAPSHOTS:
            yield from _spread(entry.path, _OF_SNAPSHOTS[entry.name], group.name)
        elif folder and entry.name == "log":
            yield from _named(entry.path, LOG, group.name)
        elif folder:
            yield from _all(entry.path, FOREIGN)
        else:
            yield from _found(entry, FOREIGN, group.name, entry.name)


def _spread(folder: str, kind: str, group: str) -> Iterator[Stored]:
    """Yield files of one kind, spread over directories by the first two digits of their names."""
    lengths = _TREE_LETTERS if kind in (TREE, PARTIAL_TREE) else (_KEY_LETTERS,)
    for spread in _entries(folder):
        if not spread.is_dir(follow_symlinks=False):
            yield from _found(spread, FOREIGN, group, spread.name)
            continue
        for entry in _entries(spread.path):
            name = spread.name + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _all(entry.path, FOREIGN)
            elif len(spread.name) == 2 and _HEX.fullmatch(name) and len(name) in lengths:
                yield from _found(entry, kind, group, name)
            else:
                yield from _found(entry, FOREIGN, group, entry.name)


def _history(folder: str) -> Iterator[Stored]:
    """Yield blocks of commits and views of histories."""
    views = os.path.join(folder, VIEWS)
    for file in _spread(folder, BLOCK, ""):
        if os.path.dirname(file.path) != views:
            yield file
    for entry in _entries(views):
        if entry.is_dir(follow_symlinks=False):
            yield from _all(entry.path, FOREIGN)
        else:
            kind = BLOCK_VIEW if _COMMITS_VIEW.fullmatch(entry.name) else FOREIGN
            yield from _found(entry, kind, "", entry.name)


def _named(folder: str, kind: str, group: str) -> Iterator[Stored]:
    """Yield files that are named by a tree id."""
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _all(entry.path, FOREIGN)
        else:
            fits = _HEX.fullmatch(entry.name) and len(entry.name) in _TREE_LETTERS
            yield from _found(entry, kind if fits else FOREIGN, group, entry.name)


def _all(folder: str, kind: str) -> Iterator[Stored]:
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from _all(entry.path, kind)
        else:
            yield from _found(entry, kind, "", entry.name)


def _found(entry: os.DirEntry[str], kind: str, group: str, name: str) -> Iterator[Stored]:
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # another process has replaced or removed it
        return
    yield Stored(entry.path, kind, group, name, status.st_size, status.st_mtime)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return []
