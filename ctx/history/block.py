"""A block: some commits with the words and vectors of their messages and changes, as arrays.

Rows are texts: the message of a commit, the paths that it touches, and pieces of what it added and removed. A
block knows no text. Blocks are put together by putting their arrays behind each other.
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
"""What a row is."""
MERGE, CUT, EDGE, UNREAD = 1, 2, 4, 8
"""Flags of commits: a merge, not all of it read, the end of a shallow history, its objects are missing."""
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
    """The bytes that are stored."""
    return encode(arrays, {"format": _FORMAT})


def decode_block(payload: bytes, commits: Sequence[bytes]) -> Arrays:
    """The arrays of a block of just these commits. Raises `Damaged`."""
    arrays = check_block(payload)
    if arrays["commit_id"].tobytes() != b"".join(commits):
        raise Damaged("a block of commits is not of the commits that its name says")
    return arrays


def check_block(payload: bytes) -> Arrays:
    """The arrays of a block of whatever commits. Raises `Damaged`."""
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
    """Raises `Damaged` unless commits, paths and rows fit each other."""
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
        raise Damaged("a block of commits does not fit itself")


def join(blocks: Sequence[Arrays]) -> Arrays:
    """One block of all the commits of some, in their order."""
    joined: dict[str, npt.NDArray[Any]] = {
        name: np.concatenate([block[name] for block in blocks]) for name in (*ARRAYS, *POSTINGS)
    }
    sizes = [len(block["row_kind"]) for block in blocks]
    starts = np.cumsum([0, *sizes[:-1]])
    joined["posting_row"] = np.concatenate(
        [block["posting_row"] + np.uint32(start) for block, start in zip(blocks, starts, strict=True)]
    ).astype("<u4")
    return joined
