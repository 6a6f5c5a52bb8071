"""Validation of single files of a store."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ctx.errors import Damaged, Decoding
from ctx.history.block import check_block
from ctx.maintenance.inventory import (
    BLOCK,
    BLOCK_VIEW,
    CLUSTER,
    FIT,
    LOG,
    NODE,
    OWN,
    PARTIAL_CLUSTER,
    PARTIAL_TREE,
    PIN,
    SEGMENT,
    TREE,
    Stored,
)
from ctx.maintenance.pins import read_pin
from ctx.models.model_files import JOURNAL
from ctx.storage.arrays import Arrays, decode
from ctx.storage.clusters import decode_cluster
from ctx.storage.regular_files import open_regular
from ctx.storage.snapshots import TREE_BYTES, decode_node
from ctx.storage.store import LAYOUT, decode_object
from ctx.storage.views.catalog import segment_name
from ctx.storage.views.segments import Segment
from ctx.storage.views.view import View

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


class Examiner:
    """Validates files, and records their references so that dangling ones can be found at the end."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._judged: dict[tuple[str, str, bytes], bool] = {}
        """Return True for each valid node or cluster, by kind, descriptor and key."""
        self._names: dict[str, tuple[list[bytes], list[bytes]]] = {}
        """Nodes and clusters that a valid node or tree refers to, by path."""

    def problem(self, file: Stored) -> str | None:
        """Return the problem of a file by itself, or None. Raises OSError if it may not be read."""
        try:
            if file.kind in (CLUSTER, NODE, TREE):
                self._judged[file.kind, file.group, bytes.fromhex(file.name)] = False
                self._object(file)
                self._judged[file.kind, file.group, bytes.fromhex(file.name)] = True
            elif file.kind in (PARTIAL_CLUSTER, PARTIAL_TREE):
                decode_object(file.name, _read(file))
            elif file.kind == BLOCK:
                check_block(decode_object(file.name, _read(file)))
            elif file.kind == BLOCK_VIEW:
                decode(_read(file))
            elif file.kind == FIT:
                _check_fit(_read(file))
            elif file.kind == LOG:
                self._log(file)
            elif file.kind == PIN:
                if read_pin(self._session.store, bytes.fromhex(file.name)) is None:
                    return "the pin does not name its revision"
            elif file.kind == OWN:
                if file.name == "version" and _read(file).strip() != str(LAYOUT).encode():
                    return f"the layout of the store is not {LAYOUT}"
            else:
                self._arrays(file)
        except Damaged as error:
            return str(error)
        except FileNotFoundError:
            return None
        return None

    def dangling(self, files: Iterable[Stored]) -> Iterator[tuple[Stored, str]]:
        """Yield valid nodes and trees that refer, directly or indirectly, to missing or damaged files."""
        left = [file for file in files if file.path in self._names]
        while True:
            fallen = [file for file in left if not self._stands(file)]
            if not fallen:
                break
            for file in fallen:
                self._judged[file.kind, file.group, bytes.fromhex(file.name)] = False
                if os.path.lexists(file.path):
                    yield file, "it refers to a missing or damaged file"
            gone = {file.path for file in fallen}
            left = [file for file in left if file.path not in gone]
        for file in self._cyclic(left):
            self._judged[file.kind, file.group, bytes.fromhex(file.name)] = False
            yield file, "its references form a cycle"

    def _cyclic(self, files: Iterable[Stored]) -> list[Stored]:
        """Return the files that lead to a cycle: those left after repeatedly removing leaves."""
        left = {(file.kind, file.group, bytes.fromhex(file.name)): file for file in files}
        while True:
            ends = [
                place
                for place, file in left.items()
                if not any((NODE, file.group, key) in left for key in self._names[file.path][0])
            ]
            if not ends:
                return list(left.values())
            for place in ends:
                del left[place]

    def _stands(self, file: Stored) -> bool:
        nodes, clusters = self._names[file.path]
        return all(self._is_sound(NODE, file.group, key) for key in nodes) and all(
            self._is_sound(CLUSTER, file.group, key) for key in clusters
        )

    def _is_sound(self, kind: str, group: str, key: bytes) -> bool:
        if (kind, group, key) not in self._judged:
            # Written since the files were listed, or missing.
            area = ("objects", group) if kind == CLUSTER else ("snapshots", group, "nodes")
            found = self._session.store.read(os.path.join(*area), key.hex())
            self._judged[kind, group, key] = found is not None
        return self._judged[kind, group, key]

    def _object(self, file: Stored) -> None:
        payload = decode_object(file.name, _read(file))
        key = bytes.fromhex(file.name)
        descriptor = self._session.descriptor
        if file.kind == TREE:
            if len(payload) != TREE_BYTES:
                raise Damaged("a snapshot does not name its root node")
            self._names[file.path] = [payload[:20]], []
            return
        if file.kind == NODE:
            record = decode_node(payload)
            self._names[file.path] = record.nodes, record.clusters
        elif file.group == str(descriptor):
            decode_cluster(payload, str(descriptor), key, descriptor.vector_bytes)

    def _log(self, file: Stored) -> None:
        for line in _read(file).splitlines():
            with Decoding("a line of the log of a snapshot"):
                if not isinstance(json.loads(line), dict):
                    raise Damaged("the log of a snapshot has a line that is not a JSON object")

    def _arrays(self, file: Stored) -> None:
        if file.name.startswith(JOURNAL):
            return  # not an array file; readers stop at an incomplete record
        arrays, meta = decode(_read(file))
        if file.group != self._session.catalog.group:
            return
        with Decoding("a segment or view"):
            if file.kind == SEGMENT:
                _check_segment(file.name, arrays, meta)
            else:
                self._check_view(file.name, arrays, meta)

    def _check_view(self, name: str, arrays: Arrays, meta: dict[str, Any]) -> None:
        try:
            segments = [self._session.catalog.segment(segment) for segment in meta["segments"]]
        except OSError as error:
            raise Damaged("a view names a segment that is missing") from error
        view = View(arrays, meta, segments)
        if view.tree.hex() != name.partition("-")[2]:
            raise Damaged("a view is of another tree than its name")


def _read(file: Stored) -> bytes:
    try:
        with open_regular(file.path) as stream:
            return stream.read()
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Damaged("it is not a regular file") from error
        raise


def _check_fit(data: bytes) -> None:
    """Raise `Damaged` if a fitted correction, of whatever version, cannot be read."""
    try:
        decode(data)
    except Damaged as error:
        raise Damaged(
            f"{error}; the fitted weights are lost, `git ctx evaluate --fit` fits them again"
        ) from error


def _check_segment(name: str, arrays: Arrays, meta: dict[str, Any]) -> None:
    Segment(arrays, meta)
    if meta.get("name") != name or segment_name(arrays, meta) != name:
        raise Damaged("a segment does not match its name")
