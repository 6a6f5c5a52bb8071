"""Citations: `<blob id>:<first line>-<last line>`, which name lines for as long as the blob exists.

Parses and looks up citations. A path locates code in one revision; a citation identifies the code itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import CtxError, GitFailed, NothingCommitted, UnknownRevision, UsageError
from ctx.git import process
from ctx.git.formats import DIRECTORY_MODE
from ctx.git.repository import Repository
from ctx.git.unknown import FETCH_ALL
from ctx.git.worktree import has_work_tree
from ctx.indexing.tree_walk import MOST_ENTRIES
from ctx.text.contents import BINARY, MAX_SIZE, content_skip, to_text
from ctx.text.paths import SHORT
from ctx.text.pluralize import pluralize
from ctx.types import WORK_TREE, CitedLines

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_MOST_PATHS = 10_000
"""A file that a tree has at more paths than this is shown without them."""

_CITATION = re.compile(r"([0-9a-fA-F]{4,64})(?::([0-9]+)(?:-([0-9]+))?)?")
_LINES = re.compile(r"(.+):([0-9]+)(?:-([0-9]+))?", re.DOTALL)


class Lines(NamedTuple):
    """A range of lines, both ends included and counted from 1; `first` is None for everything.

    `name` is the text before the lines: an id or a path.
    """

    name: str
    first: int | None
    last: int | None


def read_citation(text: str) -> Lines | None:
    """Parse a citation; None if it is not one. Raises UsageError for invalid lines."""
    found = _CITATION.fullmatch(text)
    return found and _lines(text, found[1].lower(), found[2], found[3])


def read_place(text: str) -> Lines | None:
    """Parse `<path>:<line>` or `<path>:<first>-<last>`; None if it is neither. Raises UsageError."""
    found = _LINES.fullmatch(text)
    return found and _lines(text, found[1], found[2], found[3])


def _lines(text: str, name: str, first: str | None, last: str | None) -> Lines:
    if first is None:
        return Lines(name, None, None)
    start, end = int(first), int(last or first)
    if not 1 <= start <= end:
        raise UsageError(
            f"'{text}' names lines {start} to {end}: lines count from 1, the smaller one comes first"
        )
    return Lines(name, start, end)


def look_up(session: SearchSession, text: str) -> CitedLines:
    """Return the lines that a citation names; if they are not committed, those of the work tree."""
    lines = read_citation(text)
    if lines is None:
        raise UsageError(
            f"'{text}' is not a citation: write <blob id>:<first line>-<last line> as printed by search"
        )
    try:
        blob = find_blob(session.repository, lines.name)
        found = cited(session.repository, blob, lines)
    except UnknownRevision:
        return _elsewhere(session, text, lines)
    try:
        head = session.repository.resolve_tree("HEAD").tree
        return replace(found, paths=tuple(map(os.fsdecode, paths_of(session.repository, head, blob))))
    except (NothingCommitted, UnknownRevision, GitFailed):
        return found


def _elsewhere(session: SearchSession, text: str, lines: Lines) -> CitedLines:
    """Return cited lines that exist only in the work tree or in a submodule. Raises UnknownRevision."""
    try:
        if has_work_tree(session.repository):
            session.overlaid(WORK_TREE)
        return cited(session.reader, find_blob(session.reader, lines.name), lines)
    except UnknownRevision:
        from ctx.search.submodules import find_below

        found = find_below(session, lambda inner: look_up(inner, text))
        if found is None:
            raise
        return found


def find_blob(repository: Repository, name: str) -> bytes:
    """Return the blob with this id prefix. Raises UnknownRevision if there is none or more than one."""
    found = repository.objects.find_header(name.encode())
    if found is not None and found.kind == "blob":
        return found.oid
    if found is not None:
        raise UnknownRevision(
            f"{name} is a {found.kind}, not a file; a citation begins with the id of a blob"
        )
    if len(name) < 2 * repository.id_size:
        blobs = [oid for oid in _beginning(repository, name) if _is_blob(repository, oid)]
        if len(blobs) == 1:
            return blobs[0]
        if blobs:
            several = ", ".join(oid.hex()[:SHORT] for oid in blobs)
            raise UnknownRevision(f"several blobs begin with {name}: {several}; write more digits")
    raise UnknownRevision(
        f"there is no blob {name} in {repository.git_dir}: it was never committed (what is not committed "
        "can be cited until it is edited), git collected it, or it is to be fetched "
        f"(`git fetch`, in a partial clone `{FETCH_ALL}`)"
    )


def find_file(repository: Repository, tree: bytes, path: bytes) -> bytes:
    """Return the blob at a path of a tree. Raises CtxError if there is no file."""
    oid = tree
    names = path.split(b"/")
    for place, name in enumerate(names):
        try:
            entries = {entry.name: entry for entry in repository.tree_entries(oid)}
        except KeyError:
            entries = {}
        entry = entries.get(name)
        if entry is None or (entry.mode == DIRECTORY_MODE) != (place < len(names) - 1):
            raise CtxError(f"there is no file '{os.fsdecode(path)}' in tree {tree.hex()[:SHORT]}")
        oid = entry.oid
    return oid


def cited(repository: Repository, blob: bytes, lines: Lines) -> CitedLines:
    """Return the text of lines of a blob. Raises CtxError if it has fewer lines or is missing."""
    try:
        content = repository.read_small_blob(blob, MAX_SIZE)
    except KeyError:
        raise CtxError(
            f"the blob {blob.hex()[:SHORT]} is not in this clone: `git cat-file -e {blob.hex()}` fetches it "
            f"into a partial clone, `{FETCH_ALL}` brings all that is missing"
        ) from None
    if content_skip(content) == BINARY:
        raise CtxError(
            f"the blob {blob.hex()[:SHORT]} is binary: `git cat-file blob {blob.hex()}` prints its bytes"
        )
    text = to_text(content, 0, len(content)).split("\n")
    if text[-1] == "":
        text.pop()
    first, last = lines.first or 1, lines.last or max(1, len(text))
    if last > max(1, len(text)):
        raise CtxError(
            f"'{lines.name}' has {pluralize(len(text), 'line')}, so there is no line {last:,} to show"
        )
    return CitedLines(blob=blob.hex(), first=first, last=last, text="\n".join(text[first - 1 : last]))


def paths_of(repository: Repository, tree: bytes, blob: bytes) -> list[bytes]:
    """Return the paths at which a tree has a blob, in order. Raises GitFailed, also if there are too many."""
    mark = blob.hex().encode() + b"\t"
    found: list[bytes] = []
    words = ("ls-tree", "-r", "-z", "--full-tree", tree.hex())
    with process.printing(repository.location.directory, words, repository.location.variables) as stream:
        for number, entry in enumerate(process.records(stream)):
            if mark in entry[:80]:
                found.append(entry.partition(b"\t")[2])
            if number > MOST_ENTRIES or len(found) > _MOST_PATHS:
                raise GitFailed(f"the tree {tree.hex()} has too many files to look for one in them")
    return found


def _beginning(repository: Repository, name: str) -> Sequence[bytes]:
    listing = repository.git("rev-parse", f"--disambiguate={name}")
    return [bytes.fromhex(line.decode()) for line in listing.split()]


def _is_blob(repository: Repository, oid: bytes) -> bool:
    return repository.blob_sizes([oid])[0] is not None
