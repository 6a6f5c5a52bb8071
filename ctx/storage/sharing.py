"""The `ctx.storage` setting: where the index of a repository comes from.

It is `local` (nothing is fetched automatically), `shared` (indexing fetches from the remote first) or `auto`:
shared after the first fetch that brought something, which is recorded beside the index.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from ctx.errors import StoreUnusable, UsageError
from ctx.git.repository import Repository
from ctx.storage.regular_files import read_regular
from ctx.storage.store import Store

AUTO, LOCAL, SHARED = "auto", "local", "shared"
_REQUEST_INTERVAL = 600.0
"""Seconds before the vectors of a tree are requested again from a remote that had none."""


def _setting(repository: Repository) -> str:
    """Return the value of `ctx.storage`. Raises UsageError for an invalid value."""
    value = repository.settings.get("ctx.storage") or AUTO
    if value not in (AUTO, LOCAL, SHARED):
        raise UsageError(f"ctx.storage is {value!r}: set it to auto, local or shared with `git config`")
    return value


def storage_mode(repository: Repository, store: Store) -> str:
    """Return LOCAL or SHARED."""
    value = _setting(repository)
    if value != AUTO:
        return value
    note = read_regular(_note(store), 16) or b""
    return SHARED if note.strip() == SHARED.encode() else LOCAL


def may_fetch(repository: Repository, *, indexing: bool) -> bool:
    """Return True if automatic fetches from a remote are permitted, for `indexing` or for a search."""
    value = _setting(repository)
    if value == LOCAL or not repository.settings.remotes or repository.settings.is_offline:
        return False
    return repository.settings.get_bool("ctx.autoFetch", False) or (indexing and value == SHARED)


def mark_shared(store: Store) -> None:
    """Record that this index came from a remote."""
    store.write_file(_note(store), f"{SHARED}\n".encode())


def requested_recently(store: Store, tree: bytes) -> bool:
    """Return True if a tree was recently requested from a remote; if not, record a request now.

    Vectors that a remote does not have stay missing for long, and a search must not request them each time.
    """
    path = os.path.join(store.path, "asked")
    with suppress(OSError):  # no request was recorded
        recent = time.time() - os.stat(path).st_mtime < _REQUEST_INTERVAL
        if recent and (read_regular(path, 200) or b"").strip() == tree.hex().encode():
            return True
    with suppress(StoreUnusable):
        store.write_file(path, f"{tree.hex()}\n".encode())
    return False


def _note(store: Store) -> str:
    return os.path.join(store.path, "storage")
