"""Repair of one damaged file: derived files are removed, of others the readable parts are kept."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from ctx.errors import Damaged, Decoding
from ctx.maintenance.inventory import LOG, OWN, PIN, Stored
from ctx.maintenance.pins import Pin, write_pin
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store, unusable


def repair(store: Store, file: Stored) -> bool:
    """Remove or rewrite a damaged file; return True. Raises `StoreUnusable`."""
    if file.kind == PIN:
        # The name of the file is the pinned tree.
        write_pin(store, Pin(bytes.fromhex(file.name), file.name, int(file.mtime)))
    elif file.kind == LOG:
        store.write_file(file.path, _readable_lines(file.path))
    elif file.kind == OWN:
        store.prepare()
    else:
        try:
            os.unlink(file.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise unusable(store.path, error) from error
    return True


def _readable_lines(path: str) -> bytes:
    kept = b""
    try:
        with open_regular(path) as file:
            lines = file.readlines()
    except OSError:  # a pipe, say
        return kept
    for line in lines:
        with suppress(Damaged), Decoding("a line of the log"):
            if isinstance(json.loads(line), dict):
                kept += line.rstrip(b"\n") + b"\n"
    return kept
