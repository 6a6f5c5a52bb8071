"""Mending one damaged file: what can be made anew is removed, of the rest is kept what can be read."""

from __future__ import annotations

import json
import os

from ctx.maintenance.inventory import LOG, OWN, PIN, Stored
from ctx.maintenance.pins import Pin, write_pin
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store, unusable


def mend(store: Store, file: Stored) -> bool:
    """Do away with the damage; always true. Raises `StoreUnusable`."""
    if file.kind == PIN:
        # That there is a pin is what counts, and its name says of what.
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
        try:
            if isinstance(json.loads(line), dict):
                kept += line.rstrip(b"\n") + b"\n"
        except ValueError:
            continue
    return kept
