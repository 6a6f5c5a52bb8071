"""Temporary views of the parent trees of commits, invisible to users of the index.

Clusters and manifest nodes of these trees are stored like those of uncommitted trees: shared data is reused,
and `git ctx gc` removes the rest. Segments and views stay in this process. No snapshot is written and nothing
is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ctx.git.resolution import REVISION, Resolution
from ctx.indexing.indexer import Indexer
from ctx.search.session import SearchSession
from ctx.storage.views.catalog import Catalog, Tips
from ctx.storage.views.segments import Key
from ctx.storage.views.view import View
from ctx.text import VERSION

_KEPT_VIEWS = 2


class Parents:
    """Views of trees that are not in the index."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._catalog = _InMemory(session.store, str(session.descriptor), VERSION)
        self._indexer = Indexer(session.repository, session.store, session.descriptor, self._catalog, False)
        session.store.may_use_memory = True

    def view(self, tree: bytes) -> View:
        """Return the view of a tree, indexing it if needed. Raises `GitFailed` if a subtree is missing.

        Missing blobs, as in a partial clone, are left out, as in a search.
        """
        found = self._catalog.view(tree)
        if found is None:
            asked = Resolution(tree, None, tree.hex(), REVISION)
            self._indexer.cover(asked, "evaluate")
            found = self._catalog.view(tree) or self._indexer.view(asked, named=True)
        return found

    def records(self, view: View) -> Callable[[bytes, Key], bytes]:
        """Return a function that gives the record of a document of a cluster; it raises `Damaged`."""
        return partial(self._session.record, view)


class _InMemory(Catalog):
    """A catalog that reads views and segments from disk and keeps the last few new ones in memory."""

    def views(self) -> Iterator[View]:
        """Yield all usable views, those of this process first, as they are most similar to the next tree."""
        yield from reversed(self._views.values())
        yield from super().views()

    def forget(self, tree: bytes) -> None:
        """Drop the view of a tree from memory."""
        self._views.pop(tree, None)

    def clear(self) -> None:
        """Drop all views and segments from memory; files on disk are kept."""
        self._views.clear()
        self._segments.clear()

    def prune(self, are_tips: Tips) -> None:
        """Drop all but the last views, and the segments that no remaining view uses."""
        while len(self._views) > _KEPT_VIEWS:
            del self._views[next(iter(self._views))]
        named = {name for view in self._views.values() for name in view.names}
        for name in self._segments.keys() - named:
            del self._segments[name]

    def _use(self, name: str) -> bool:
        return True  # do not mark files as used: this is not a user's search

    def _write(self, name: str, data: bytes) -> None:
        pass
