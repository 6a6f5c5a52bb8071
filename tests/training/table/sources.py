"""The code and the documents of one revision, split into chunks by the program."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ctx.chunking import chunk
from ctx.chunking.languages import language_of
from ctx.storage.views import paths
from ctx.text.contents import MAX_SIZE, content_skip, decode
from ctx.types import Chunk

MOST_BYTES = 2_000_000
"""Most bytes of one repository; of a larger one, a sample of files is used."""
_LARGEST_FILE = 120_000
_DOCS = ("markdown", "rst")
_LEFT_OUT = paths.CONFIG | paths.DATA | paths.VENDORED


class Piece(NamedTuple):
    """A chunk with its text and the words of its path."""

    path: str
    language: str
    flags: int
    chunk: Chunk
    text: str


def pieces(repository: Path, revision: str, chance: random.Random | None) -> list[Piece]:
    """The chunks of the code and documents of a tree; a sample of large trees, all without `chance`."""
    listed = subprocess.run(
        ["git", "-C", str(repository), "ls-tree", "-r", "-l", "-z", revision], check=True, capture_output=True
    ).stdout
    chosen = []
    for entry in listed.split(b"\0")[:-1]:
        head, path = entry.split(b"\t", 1)
        mode, kind, oid, size = head.split()
        language = language_of(path)
        # A clone may lack its largest blobs; git then prints no size.
        if kind != b"blob" or mode == b"120000" or language is None or not size.isdigit():
            continue
        if int(size) > (_LARGEST_FILE if chance else MAX_SIZE):
            continue
        flags = paths.flags(path, language)
        if flags & (_LEFT_OUT if chance else paths.DATA | paths.CONFIG) or (
            flags & paths.DOCS and language not in _DOCS
        ):
            continue
        chosen.append((path, language, flags, oid, int(size)))
    kept, total = chosen, 0
    if chance:
        chance.shuffle(chosen)
        kept = []
        for file in chosen:
            if total + file[4] <= MOST_BYTES:
                kept.append(file)
                total += file[4]
        kept.sort()
    found = []
    for (path, language, flags, _, _), blob in zip(
        kept, _blobs(repository, [e[3] for e in kept]), strict=True
    ):
        if content_skip(blob, language) is not None:
            continue
        source, _ = decode(blob)
        for one in chunk(source, language):
            text = source[one.start : one.end].decode("utf-8", "replace")
            found.append(Piece(path.decode("utf-8", "replace"), language, flags, one, text))
    return found


def _blobs(repository: Path, oids: list[bytes]) -> Iterator[bytes]:
    result = subprocess.run(
        ["git", "-C", str(repository), "cat-file", "--batch"],
        input=b"\n".join(oids) + b"\n", check=True, capture_output=True,
    ).stdout  # fmt: skip
    at = 0
    for _ in oids:
        line = result.index(b"\n", at)
        size = int(result[at:line].rsplit(b" ", 1)[1])
        yield result[line + 1 : line + 1 + size]
        at = line + size + 2
