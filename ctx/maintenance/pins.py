"""Pins: trees whose snapshots are always kept, even if no branch reaches them.

A pin is a file named by its tree, with the pinned revision name and time as JSON. The file name alone keeps
the tree, even if the content cannot be read.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import Damaged, Decoding, UnknownRevision
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


class Pin(NamedTuple):
    """A pinned tree, the revision name it was pinned by, and the time in seconds since 1970."""

    tree: bytes
    revision: str
    time: int


def pins(store: Store) -> list[Pin]:
    """Return all pins, oldest first."""
    folder = os.path.join(store.path, "pins")
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = []
    for name in names:
        with suppress(ValueError):
            tree = bytes.fromhex(name)
            found.append(read_pin(store, tree) or Pin(tree, name, 0))
    return sorted(found, key=lambda pin: (pin.time, pin.tree))


def read_pin(store: Store, tree: bytes) -> Pin | None:
    """Return the pin of a tree; None if it is missing or unreadable."""
    with suppress(OSError, Damaged), Decoding("a pin"):
        with open_regular(_file(store, tree)) as file:
            fields = json.load(file)
        return Pin(tree, str(fields["revision"]), int(fields["time"]))
    return None


def write_pin(store: Store, pin: Pin) -> None:
    """Store a pin. Raises `StoreUnusable`."""
    text = json.dumps({"revision": pin.revision, "time": pin.time})
    store.write_file(_file(store, pin.tree), text.encode() + b"\n")


def pin(session: SearchSession, revision: str | None = None) -> Pin:
    """Pin the tree of a revision; return its pin. Raises UnknownRevision."""
    resolved = session.resolve(revision)
    known = read_pin(session.store, resolved.tree)
    if known is not None:
        return known
    made = Pin(resolved.tree, resolved.revision, int(time.time()))
    write_pin(session.store, made)
    return made


def unpin(session: SearchSession, name: str) -> Pin:
    """Remove a pin. `name` is a revision, a prefix of a tree id, or the name it was pinned by.

    Raises UnknownRevision if not exactly one pin matches.
    """
    known = pins(session.store)
    found = [pin for pin in known if pin.revision == name]
    if not found and len(name) >= 4:
        found = [pin for pin in known if pin.tree.hex().startswith(name.lower())]
    if not found:
        tree = session.resolve(name).tree
        found = [pin for pin in known if pin.tree == tree]
    if len(found) != 1:
        what = "several pinned trees" if found else "no pinned tree"
        raise UnknownRevision(f"'{name}' means {what}; `git ctx pin` lists them")
    session.store.remove_file(_file(session.store, found[0].tree))
    return found[0]


def _file(store: Store, tree: bytes) -> str:
    return os.path.join(store.path, "pins", tree.hex())
