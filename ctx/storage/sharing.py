"""Whether the index of a repository comes from sharing, and the rule by which that is decided.

`ctx.storage` says `local` (nothing is ever fetched on the way), `shared` (indexing asks the remote first) or
`auto`: shared from the first fetch on that brought something, which is noted beside the index.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from ctx.errors import StoreUnusable, UsageError
from ctx.git.repository import Repository
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store

AUTO, LOCAL, SHARED = "auto", "local", "shared"
_ASKED_AGAIN = 600.0
"""Seconds after which a remote is asked again for the vectors of a tree that it lacked."""


def setting(repository: Repository) -> str:
    """What `ctx.storage` says. Raises UsageError for what is none of the three."""
    wish = repository.config("ctx.storage") or AUTO
    if wish not in (AUTO, LOCAL, SHARED):
        raise UsageError(f"ctx.storage is {wish!r}: set it to auto, local or shared with `git config`")
    return wish


def storage(repository: Repository, store: Store) -> str:
    """LOCAL or SHARED."""
    wish = setting(repository)
    if wish != AUTO:
        return wish
    try:
        with open_regular(_note(store)) as file:
            return SHARED if file.read(16).strip() == SHARED.encode() else LOCAL
    except OSError:
        return LOCAL


def may_fetch(repository: Repository, *, indexing: bool) -> bool:
    """Whether the user has allowed that a remote is asked without a command: `indexing`, or on a search."""
    wish = setting(repository)
    if wish == LOCAL or not repository.settings.remotes or repository.settings.is_offline:
        return False
    return repository.settings.get_bool("ctx.autoFetch", False) or (indexing and wish == SHARED)


def decide(store: Store) -> None:
    """Note that this index came from a remote."""
    store.write_file(_note(store), f"{SHARED}\n".encode())


def asked_lately(store: Store, tree: bytes) -> bool:
    """Whether a remote was asked for what a tree lacks a short while ago; if not, it counts as asked now.

    What a remote model has not embedded stays lacking for long, and a search must not ask for it each time.
    """
    path = os.path.join(store.path, "asked")
    try:
        if time.time() - os.stat(path).st_mtime < _ASKED_AGAIN:
            with open_regular(path) as file:
                if file.read(200).strip() == tree.hex().encode():
                    return True
    except OSError:
        pass  # nobody has asked, or nothing can be read here
    with suppress(StoreUnusable):
        store.write_file(path, f"{tree.hex()}\n".encode())
    return False


def _note(store: Store) -> str:
    return os.path.join(store.path, "storage")
