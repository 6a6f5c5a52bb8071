"""The trees before commits, made searchable without a trace in what the user sees of the index.

Clusters and manifest nodes of such trees are stored like those of any tree that is searched and not
committed: what they share with other trees is reused, and `git ctx gc` removes the rest. Their segments and
views stay in this process, no snapshot is written and nothing is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ctx.git.revisions import REVISION, Resolution
from ctx.indexing.indexer import Indexer
from ctx.search.open_index import OpenIndex
from ctx.storage.views.catalog import Catalog, Tips
from ctx.storage.views.segments import Key
from ctx.storage.views.view import View
from ctx.text import VERSION

_KEPT_VIEWS = 2


class Parents:
    """Gives the views of trees that git names and nobody asked to index."""

    def __init__(self, index: OpenIndex) -> None:
        self._index = index
        self._catalog = _InMemory(index.store, str(index.descriptor), VERSION)
        self._indexer = Indexer(index.repository, index.store, index.descriptor, self._catalog, False)
        index.store.may_use_memory = True

    def view(self, tree: bytes) -> View:
        """The view of a tree; what it lacks is made. Raises `GitFailed` where a part of it is not here.

        Where contents of files are not here, as in a partial clone, it has what is here, as for a search.
        """
        found = self._catalog.view(tree)
        if found is None:
            asked = Resolution(tree, None, tree.hex(), REVISION)
            self._indexer.cover(asked, "evaluate")
            found = self._catalog.view(tree) or self._indexer.view(asked, named=True)
        return found

    def records(self, view: View) -> Callable[[bytes, Key], bytes]:
        """What gives the record of a document of a cluster of a view; it raises `Damaged`."""
        return partial(self._index.record, view)


class _InMemory(Catalog):
    """Reads the views and segments on disk; new ones are in memory, and only the last few of them."""

    def views(self) -> Iterator[View]:
        """All usable views, those of this process first: the next commit's tree is likest the last one."""
        yield from reversed(self._views.values())
        yield from super().views()

    def forget(self, tree: bytes) -> None:
        """Let go of the view of a tree."""
        self._views.pop(tree, None)

    def clear(self) -> None:
        """Let go of all views and segments; those on disk are not this process's to remove."""
        self._views.clear()
        self._segments.clear()

    def prune(self, are_tips: Tips) -> None:
        """Forget all but the last views, and the segments that none of those names."""
        while len(self._views) > _KEPT_VIEWS:
            del self._views[next(iter(self._views))]
        named = {name for view in self._views.values() for name in view.names}
        for name in self._segments.keys() - named:
            del self._segments[name]

    def _use(self, name: str) -> bool:
        return True  # what this process looks at is not what the user searches

    def _write(self, name: str, data: bytes) -> None:
        pass
