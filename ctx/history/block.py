"""A block: some commits with the terms and vectors of their messages and changes, as arrays.

A row is a text: the message of a commit, the paths that it touches, or a piece of added or removed lines.
A block does not store the text. Blocks are joined by concatenating their arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ctx.errors import Damaged
from ctx.storage.arrays import ANY, Arrays, decode, encode, expect
from ctx.storage.vectors import DIMENSIONS

MESSAGE, PATHS, ADDED, REMOVED = range(4)
"""Kinds of rows."""
MERGE, CUT, EDGE, UNREAD = 1, 2, 4, 8
"""Flags of commits: merge, changes truncated, shallow boundary, objects missing."""
NO_PATH = 0xFFFFFFFF

_FORMAT = 1
ARRAYS = {
    "commit_id": ("|u1", (ANY,)),
    "commit_time": ("<i8", ()),
    "commit_flags": ("|u1", ()),
    "commit_rows": ("<u4", ()),
    "commit_paths": ("<u4", ()),
    "path_length": ("<u4", ()),
    "path_bytes": ("|u1", ()),
    "row_kind": ("|u1", ()),
    "row_path": ("<u4", ()),
    "row_first": ("<u4", ()),
    "row_last": ("<u4", ()),
    "row_length": ("<u2", ()),
    "row_bits": ("|u1", (DIMENSIONS // 8,)),
}
POSTINGS = {"posting_row": ("<u4", ()), "posting_term": ("<u8", ()), "posting_times": ("|u1", ())}


def encode_block(arrays: Arrays) -> bytes:
    """Return the stored form of a block."""
    return encode(arrays, {"format": _FORMAT})


def decode_block(payload: bytes, commits: Sequence[bytes]) -> Arrays:
    """Return the arrays of a block of exactly these commits. Raises `Damaged`."""
    arrays = check_block(payload)
    if arrays["commit_id"].tobytes() != b"".join(commits):
        raise Damaged("a block of commits does not match its name")
    return arrays


def check_block(payload: bytes) -> Arrays:
    """Return the arrays of a block of any commits. Raises `Damaged`."""
    arrays, meta = decode(payload)
    expect(arrays, {**ARRAYS, **POSTINGS})
    if meta.get("format") != _FORMAT:
        raise Damaged("a block of commits is of another format")
    check_rows(arrays, len(arrays["commit_id"]))
    lengths = {len(arrays[name]) for name in POSTINGS}
    if len(lengths) != 1 or (lengths != {0} and int(arrays["posting_row"].max()) >= len(arrays["row_kind"])):
        raise Damaged("the words of a block of commits do not fit its rows")
    return arrays


def check_rows(arrays: Arrays, commits: int) -> None:
    """Raise `Damaged` unless commits, paths and rows are consistent."""
    rows, paths = arrays["row_kind"], arrays["path_length"]
    same = all(
        len(arrays[name]) == len(rows)
        for name in ("row_path", "row_first", "row_last", "row_length", "row_bits")
    )
    counts = arrays["commit_paths"].astype(np.int64)
    fits = (
        same
        and all(len(arrays[name]) == commits for name in ARRAYS if name.startswith("commit_"))
        and int(arrays["commit_rows"].sum(dtype=np.int64)) == len(rows)
        and int(counts.sum()) == len(paths)
        and int(paths.sum(dtype=np.int64)) == len(arrays["path_bytes"])
    )
    if fits and len(rows):
        own = np.repeat(counts, arrays["commit_rows"])
        with_path = arrays["row_path"] != NO_PATH
        fits = bool((arrays["row_path"][with_path] < own[with_path]).all()) and int(rows.max()) <= REMOVED
    if not fits:
        raise Damaged("a block of commits is inconsistent")


def join(blocks: Sequence[Arrays]) -> Arrays:
    """Return one block of the commits of all blocks, in order."""
    joined: dict[str, npt.NDArray[Any]] = {
        name: np.concatenate([block[name] for block in blocks]) for name in (*ARRAYS, *POSTINGS)
    }
    sizes = [len(block["row_kind"]) for block in blocks]
    starts = np.cumsum([0, *sizes[:-1]])
    joined["posting_row"] = np.concatenate(
        [block["posting_row"] + np.uint32(start) for block, start in zip(blocks, starts, strict=True)]
    ).astype("<u4")
    return joined
