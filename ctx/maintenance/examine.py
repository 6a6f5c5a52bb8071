"""Validation of single files of a store."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ctx.errors import Damaged, Decoding
from ctx.history.block import check_block
from ctx.maintenance.inventory import Kind, StoreFile
from ctx.maintenance.mark import children_first
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


_Reference = tuple[str, str, str]
"""Kind, descriptor and name of a node, cluster or tree."""


class Examiner:
    """Validates files, and records their references so that dangling ones can be found at the end."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._valid: dict[_Reference, bool] = {}
        """True for each examined file that is valid, and False for each damaged or dangling one."""
        self._references: dict[_Reference, list[_Reference]] = {}
        """References of each valid node or tree."""

    def problem(self, file: StoreFile) -> str | None:
        """Return the problem of a file by itself, or None. Raises OSError if it may not be read."""
        self._valid[file.reference] = False
        try:
            self._check(file)
        except Damaged as error:
            return str(error)
        except FileNotFoundError:
            return None
        self._valid[file.reference] = True
        return None

    def _check(self, file: StoreFile) -> None:
        """Raise `Damaged` if a file is not valid, and FileNotFoundError if it is gone."""
        if file.kind in (Kind.CLUSTER, Kind.NODE, Kind.TREE):
            self._object(file)
        elif file.kind in (Kind.PARTIAL_CLUSTER, Kind.PARTIAL_TREE):
            decode_object(file.name, _read(file))
        elif file.kind == Kind.BLOCK:
            check_block(decode_object(file.name, _read(file)))
        elif file.kind in (Kind.BLOCK_VIEW, Kind.FIT):
            decode(_read(file))
        elif file.kind == Kind.LOG:
            for line in _read(file).splitlines():
                with Decoding("a line of the log of a snapshot"):
                    if not isinstance(json.loads(line), dict):
                        raise Damaged("the log of a snapshot has a line that is not a JSON object")
        elif file.kind == Kind.PIN:
            if read_pin(self._session.store, bytes.fromhex(file.name)) is None:
                raise Damaged("the pin does not name its revision")
        elif file.kind == Kind.OWN:
            if file.name == "version" and _read(file).strip() != str(LAYOUT).encode():
                raise Damaged(f"the layout of the store is not {LAYOUT}")
        else:
            self._arrays(file)

    def dangling(self, files: Iterable[StoreFile]) -> Iterator[tuple[StoreFile, str]]:
        """Yield valid nodes and trees that refer, directly or indirectly, to missing or damaged files."""
        left = {file.reference: file for file in files if file.reference in self._references}
        below = {
            reference: [other for other in self._references[reference] if other in left] for reference in left
        }
        for reference in children_first(below):
            file = left.pop(reference)
            if not all(map(self._is_valid, self._references[reference])):
                self._valid[reference] = False
                if os.path.lexists(file.path):
                    yield file, "it refers to a missing or damaged file"
        for file in left.values():
            yield file, "its references form a cycle"

    def _is_valid(self, reference: _Reference) -> bool:
        if reference not in self._valid:
            # Written since the files were listed, or missing.
            kind, group, name = reference
            area = ("objects", group) if kind == Kind.CLUSTER else ("snapshots", group, "nodes")
            self._valid[reference] = self._session.store.read(os.path.join(*area), name) is not None
        return self._valid[reference]

    def _object(self, file: StoreFile) -> None:
        payload = decode_object(file.name, _read(file))
        descriptor = self._session.descriptor
        if file.kind == Kind.TREE:
            if len(payload) != TREE_BYTES:
                raise Damaged("a snapshot does not name its root node")
            self._references[file.reference] = [(Kind.NODE, file.group, payload[:20].hex())]
        elif file.kind == Kind.NODE:
            nodes, clusters, _ = decode_node(payload)
            self._references[file.reference] = [
                *((Kind.NODE, file.group, key.hex()) for key in nodes),
                *((Kind.CLUSTER, file.group, key.hex()) for key in clusters),
            ]
        elif file.group == str(descriptor):
            decode_cluster(payload, descriptor, bytes.fromhex(file.name))

    def _arrays(self, file: StoreFile) -> None:
        if file.name.startswith(JOURNAL):
            return  # not an array file; readers stop at an incomplete record
        arrays, meta = decode(_read(file))
        if file.group != self._session.catalog.group:
            return
        with Decoding("a segment or view"):
            if file.kind == Kind.SEGMENT:
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


def _read(file: StoreFile) -> bytes:
    try:
        with open_regular(file.path) as stream:
            return stream.read()
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise Damaged("it is not a regular file") from error
        raise


def _check_segment(name: str, arrays: Arrays, meta: dict[str, Any]) -> None:
    Segment(arrays, meta)
    if meta.get("name") != name or segment_name(arrays, meta) != name:
        raise Damaged("a segment does not match its name")
