"""What is wrong with one file of a store, in words."""

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
from ctx.models.file_names import ARRIVED
from ctx.storage.arrays import Arrays, decode
from ctx.storage.clusters import decode_cluster
from ctx.storage.regular_files import open_regular
from ctx.storage.snapshots import TREE_BYTES, decode_node
from ctx.storage.store import LAYOUT, decode_object
from ctx.storage.views.catalog import segment_name
from ctx.storage.views.segments import Segment
from ctx.storage.views.view import View

if TYPE_CHECKING:
    from ctx.search.open_index import OpenIndex


class Examiner:
    """Looks into files; remembers what names what, so that names that lead nowhere can be told at the end."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._judged: dict[tuple[str, str, bytes], bool] = {}
        """By kind, descriptor and key: whether a node or a cluster is sound."""
        self._names: dict[str, tuple[list[bytes], list[bytes]]] = {}
        """By path: the nodes and the clusters that a sound node or tree names."""

    def problem(self, file: Stored) -> str | None:
        """What is wrong with the file by itself, or None. Raises OSError where it may not be read."""
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
                if read_pin(self._index.store, bytes.fromhex(file.name)) is None:
                    return "the pin does not say what it was made for"
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
        """Sound nodes and trees that name, themselves or below, what is not there or is not sound."""
        left = [file for file in files if file.path in self._names]
        while True:
            fallen = [file for file in left if not self._stands(file)]
            if not fallen:
                break
            for file in fallen:
                self._judged[file.kind, file.group, bytes.fromhex(file.name)] = False
                if os.path.lexists(file.path):
                    yield file, "it names something that is missing or damaged"
            gone = {file.path for file in fallen}
            left = [file for file in left if file.path not in gone]
        for file in self._endless(left):
            self._judged[file.kind, file.group, bytes.fromhex(file.name)] = False
            yield file, "what it names leads back to itself"

    def _endless(self, files: Iterable[Stored]) -> list[Stored]:
        """Those from which one comes to a node below itself: what is left when all ends are taken off."""
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
            # Written since the files were listed, or not there at all.
            area = ("objects", group) if kind == CLUSTER else ("snapshots", group, "nodes")
            found = self._index.store.read(os.path.join(*area), key.hex())
            self._judged[kind, group, key] = found is not None
        return self._judged[kind, group, key]

    def _object(self, file: Stored) -> None:
        payload = decode_object(file.name, _read(file))
        key = bytes.fromhex(file.name)
        descriptor = self._index.descriptor
        if file.kind == TREE:
            if len(payload) != TREE_BYTES:
                raise Damaged("a snapshot does not name the node of its root")
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
                    raise Damaged("the log of a snapshot has a line that is no object of JSON")

    def _arrays(self, file: Stored) -> None:
        if file.name.startswith(ARRIVED):
            return  # no array file; whoever reads it stops at what is not whole
        arrays, meta = decode(_read(file))
        if file.group != self._index.catalog.group:
            return
        with Decoding("a segment or view"):
            if file.kind == SEGMENT:
                _check_segment(file.name, arrays, meta)
            else:
                self._check_view(file.name, arrays, meta)

    def _check_view(self, name: str, arrays: Arrays, meta: dict[str, Any]) -> None:
        try:
            segments = [self._index.catalog.segment(segment) for segment in meta["segments"]]
        except OSError as error:
            raise Damaged("a view names a segment that is missing") from error
        view = View(arrays, meta, segments)
        if view.tree.hex() != name.partition("-")[2]:
            raise Damaged("a view is of another tree than its name says")


def _read(file: Stored) -> bytes:
    try:
        with open_regular(file.path) as stream:
            return stream.read()
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Damaged("it is not a regular file") from error
        raise


def _check_fit(data: bytes) -> None:
    """Whether a correction can be read, be it that of another version. Raises `Damaged`."""
    try:
        decode(data)
    except Damaged as error:
        raise Damaged(
            f"{error}; what was learned in it is lost, `git ctx evaluate --fit` learns anew"
        ) from error


def _check_segment(name: str, arrays: Arrays, meta: dict[str, Any]) -> None:
    Segment(arrays, meta)
    if meta.get("name") != name or segment_name(arrays, meta) != name:
        raise Damaged("a segment is not the one that its name says")
