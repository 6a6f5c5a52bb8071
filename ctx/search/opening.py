"""Opening a tree for a search: resolve it, make its view, and start the answer about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from ctx.errors import CtxError, Damaged, NothingCommitted, UsageError
from ctx.git.resolution import BRANCH, CONFIG, HEAD, REVISION, Resolution
from ctx.git.revisions import resolve_head
from ctx.search.coverage import coverage_of
from ctx.search.session import JoinedTrees, SearchSession, text_of
from ctx.types import COMMITTED, STAGED, WORK_TREE, Answer, Behind, Hit, Uncommitted

if TYPE_CHECKING:
    from ctx.git.repository import Repository
    from ctx.git.worktree import WorkTree
    from ctx.indexing.indexer import Indexer
    from ctx.storage.views.view import View


class AnswerReader:
    """Reader of the blobs of one answer, whatever is opened later. See `ctx.types.BlobReader`."""

    def __init__(
        self, repository: Repository, state: WorkTree | None = None, joined: JoinedTrees | None = None
    ) -> None:
        """Initialize; `state` is the overlay on `repository`, `joined` holds the submodules."""
        self._repository = repository
        self._state = state  # its scratch objects are removed with it
        self._joined = joined

    def of(self, path: str) -> Repository:
        """Return the repository that has the blob at a path of the answer."""
        if self._joined is not None:
            return self._joined.reader(path)
        return self._repository if self._state is None else self._state.repository

    def text(self, hit: Hit) -> str | None:
        """Return the text of a hit, None if its blob is missing or damaged."""
        return text_of(self.of(hit.path), hit)


class OpenedTree(NamedTuple):
    """A tree that can be searched: the empty answer about it, and the function that repairs its data.

    `joined` holds the submodules that are searched with it, if any.
    """

    asked: Resolution
    view: View
    about: Answer
    repair: Callable[[bool], object]
    joined: JoinedTrees | None = None


class Repairable(Protocol):
    """Opened data that can be rebuilt."""

    @property
    def repair(self) -> Callable[[bool], object]:
        """Rebuild stored clusters: all of them if True, else only those that do not match their name."""


Opened = TypeVar("Opened", bound=Repairable)
Result = TypeVar("Result")


def repairing(open_: Callable[[], Opened], use: Callable[[Opened], Result]) -> Result:
    """Return `use` of what `open_` opens, and repair stored data that proves damaged.

    Each attempt opens again: first as things are, then after each of two repairs. The second repair rebuilds
    everything. Damage that remains is raised.
    """
    for everything in (False, True):
        opened: Opened | None = None
        try:
            opened = open_()
            return use(opened)
        except Damaged:
            # Without an opened tree, another process removed data that was being made into it.
            if opened is not None:
                opened.repair(everything)
    return use(open_())


def open_tree(
    session: SearchSession, revision: str | None = None, branch: str | None = None, overlay: str | None = None
) -> OpenedTree:
    """Resolve the requested tree, and index its missing parts. The parameters are those of `Request`."""
    session.forget_submodules()
    warning = distance = None
    if overlay in (None, COMMITTED):
        asked = resolve_for_search(session, revision, branch, committed=overlay == COMMITTED)
        asked, warning, distance = _fallen_back(session, asked)
    elif revision is None and branch is None:
        asked = resolve_head(session.repository)
    else:
        raise UsageError(f"'{overlay}' applies only to HEAD: leave out the revision")
    opened = open_resolved(session, asked, overlay)
    if opened.about.behind is not None:
        distance = opened.about.behind
    return opened._replace(about=replace(opened.about, behind=distance, message=warning))


def resolve_for_search(
    session: SearchSession, revision: str | None, branch: str | None = None, *, committed: bool = False
) -> Resolution:
    """Resolve the requested tree; an empty tree if nothing is named or committed, but files may be overlaid.

    Raises UnknownRevision; NothingCommitted in a bare repository and if `committed` is set.
    """
    try:
        return session.resolve(revision, branch)
    except NothingCommitted:
        if committed or revision is not None or branch is not None:
            raise
        return resolve_head(session.repository)


def open_resolved(session: SearchSession, asked: Resolution, overlay: str | None = None) -> OpenedTree:
    """Index what a search of a tree lacks; `overlay` is put on top of HEAD."""
    indexer, changed = _overlaid(session, asked, overlay)
    if changed is not None and changed.tree is not None:
        asked = asked._replace(tree=changed.tree)
    elif asked.commit is None and asked.resolved_by == HEAD:
        lacking = "nothing is staged" if overlay == STAGED else "there are no files to search"
        raise NothingCommitted(f"nothing is committed in {session.repository.git_dir} yet, and {lacking}")
    view = session.view(indexer, asked)
    distance = _behind(session, asked) if view.scanned or view.uncovered else None
    uncommitted = None
    if changed is not None:
        uncommitted = Uncommitted(
            changed=changed.changed, left_out=changed.left_out, state=overlay or WORK_TREE
        )
    about = Answer(
        hits=[],
        revision=asked.revision,
        commit=asked.commit_id,
        tree=asked.tree.hex(),
        resolved_by=asked.resolved_by,
        coverage=coverage_of(view),
        uncommitted=uncommitted,
        behind=distance,
        reader=AnswerReader(session.repository, changed),
    )
    tree = asked.tree
    return OpenedTree(asked, view, about, lambda everything: session.repair(indexer(), tree, everything))


def _fallen_back(session: SearchSession, asked: Resolution) -> tuple[Resolution, str | None, Behind | None]:
    """Return the tree to answer from instead of one that is not covered, if `ctx.fallback` is set."""
    fallback = session.repository.settings.get("ctx.fallback")
    if fallback not in (None, "none", "snapshot"):
        raise UsageError(f"ctx.fallback is {fallback!r}: set it to snapshot or none with `git config`")
    if fallback != "snapshot" or asked.resolved_by in (REVISION, BRANCH, CONFIG):
        return asked, None, None
    if session.snapshots.covered(asked.tree) is not None:
        return asked, None, None
    from ctx.search.fallback import behind, fallen_back, nearest

    found = nearest(session.repository, asked, session.snapshots)
    if found is None:
        return asked, None, None
    distance = behind(session.repository, asked, found)
    return *fallen_back(asked, found, distance), distance


def _behind(session: SearchSession, asked: Resolution) -> Behind | None:
    """Return how far the index is behind a tree that is only partly indexed."""
    from ctx.search.fallback import behind, nearest

    found = nearest(session.repository, asked, session.snapshots)
    return found and behind(session.reader, asked, found)


def _overlaid(
    session: SearchSession, asked: Resolution, overlay: str | None
) -> tuple[Callable[[], Indexer], WorkTree | None]:
    """Return a factory of the indexer of the requested tree, and its uncommitted state, if any."""
    if overlay == COMMITTED or asked.resolved_by != HEAD:
        return (lambda: session.indexer), None
    from ctx.git.worktree import has_work_tree

    if has_work_tree(session.repository):
        return session.overlaid(overlay or WORK_TREE)
    if overlay is None:
        return (lambda: session.indexer), None
    raise CtxError(
        f"nothing is checked out in {session.repository.git_dir}, so there is no '{overlay}' to search: "
        "go into a work tree of it, or leave the option out"
    )
