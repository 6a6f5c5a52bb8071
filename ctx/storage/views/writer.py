"""Writer of segments: collects parts until there are enough rows for one."""

from __future__ import annotations

from collections.abc import Iterable

from ctx.storage.views import segments
from ctx.storage.views.catalog import Catalog
from ctx.storage.views.segments import Part


class SegmentWriter:
    """Collector of parts that writes a segment for every TARGET_ROWS rows; `flush` writes the last one."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._parts: list[Part] = []
        self._rows = 0

    def add(self, parts: Iterable[Part]) -> None:
        """Add parts, each of at most MAX_ROWS rows."""
        for part in parts:
            if self._rows + len(part.lengths) > segments.TARGET_ROWS:
                self.flush()
            if part.documents:
                self._parts.append(part)
                self._rows += len(part.lengths)

    def flush(self) -> None:
        """Write the collected parts as a segment."""
        if self._parts:
            self._catalog.add_segment(*segments.build(self._parts))
        self._parts, self._rows = [], 0
