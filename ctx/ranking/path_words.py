"""The words of a path, and the name by which other files refer to a file."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ctx.models.static_embedding import static_embedding
from ctx.storage.arrays import Bools, Ints
from ctx.text.query import tokens, words_of
from ctx.text.terms import term_hash
from ctx.text.vocabulary import compound_hashes

_NAMELESS = {"index", "mod", "init", "__init__", "default"}
"""Names of files that represent their folder."""
_MOST_WORDS = 32


class PathWords(NamedTuple):
    """The words of one path, in order.

    `rows` (w,) int64 rows of the word table, `terms` (w,) int64 hashes in the field TEXT; `in_name` the
    number of words, from the end, that belong to the file's name. `name` is the term of the whole name,
    `folder` a number that the files of one folder share.
    """

    rows: Ints
    terms: Ints
    in_name: int
    name: int
    folder: int


class Joined(NamedTuple):
    """The words of some paths (n,), concatenated.

    `rows` and `terms` (words,) as in `PathWords`; `start` and `counts` (n,) give the range of each path,
    `of_name` (words,) bool is True for words of the file's name; `in_name` (n,) is their number.
    """

    rows: Ints
    terms: Ints
    start: Ints
    counts: Ints
    of_name: Bools
    in_name: Ints


def join(known: Sequence[PathWords]) -> Joined:
    """Concatenate the words of some paths."""
    rows = np.concatenate([one.rows for one in known])
    counts = np.array([len(one.rows) for one in known])
    in_name = np.array([one.in_name for one in known])
    ends = counts.cumsum()
    of_name = np.arange(len(rows)) >= (ends - in_name).repeat(counts)
    return Joined(rows, np.concatenate([one.terms for one in known]), ends - counts, counts, of_name, in_name)


def read_paths(paths: list[bytes]) -> list[PathWords]:
    """Read some paths."""
    row = static_embedding().row
    read: list[tuple[list[str], int, str, int]] = []
    for path in paths:
        folder = zlib.crc32(path[: path.rfind(b"/") + 1])
        folders, _, file = os.fsdecode(path).rpartition("/")
        stem = file.split(".")[0] or file.strip(".").split(".")[0]
        if stem.lower() in _NAMELESS and folders:
            folders, _, stem = folders.rpartition("/")
        name = _words(stem) or _words(file) or [file.lower()]
        words = [*_words(folders), *name][-_MOST_WORDS:]
        read.append((words, min(len(name), len(words)), "_".join(name), folder))
    several = [
        "_".join(words[-count:])
        for words, count, *_ in read
        if count > 1 and "".join(words[-count:]).isascii()
    ]
    compounds = dict(zip(several, compound_hashes(several), strict=True))
    return [
        PathWords(
            np.array([row(word) for word in words], dtype=np.int64),
            np.array([term_hash(word) for word in words], dtype=np.int64),
            count,
            compounds[name] if count > 1 and name in compounds else term_hash(name),
            folder,
        )
        for words, count, name, folder in read
    ]


def _words(text: str) -> list[str]:
    return [word for token in tokens(text) for word in words_of(token)]
