"""`git ctx push` without its command line: selects snapshots, indexes what is missing, and publishes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import BlobsMissing, CtxError
from ctx.reports import INDEXING_IN_PROGRESS
from ctx.share.layers import layers_of
from ctx.share.publish import Contents, Publisher, PushReport, Selected
from ctx.share.remote import find_remote
from ctx.share.transport import ShareRepository
from ctx.share.words import Words

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


class Selection(NamedTuple):
    """Revisions to publish, optionally with the tips of all local branches and all tags; HEAD by default.

    `words` also publishes the term counts of each chunk.
    """

    revisions: Sequence[str] = ()
    branches: bool = False
    tags: bool = False
    words: bool = False


def push(
    session: SearchSession,
    remote: str | None,
    selection: Selection,
    *,
    announce: Callable[[Contents], None] | None = None,
    may_ask: bool = True,
) -> PushReport:
    """Publish snapshots on a remote; index them first if needed.

    Raises `RemoteFailed`, and `BlobsMissing` if files of a tree are not in this clone.

    `announce` is called before an upload if this clone has not sent that kind of data to this remote before.
    """
    share = ShareRepository(
        session.repository, session.store, find_remote(session.repository, remote), may_ask=may_ask
    )
    names: list[str | None] = list(selection.revisions)
    for name, _ in session.repository.references():
        if (selection.branches and name.startswith(b"refs/heads/")) or (
            selection.tags and name.startswith(b"refs/tags/")
        ):
            names.append(name.decode("utf-8", "surrogateescape"))
    layers = layers_of(session)
    selected = []
    for wanted in names or [None]:
        report = session.index(wanted, trigger="push")
        if report.skipped == INDEXING_IN_PROGRESS:
            # A background run holds the lock, perhaps for another tree and for long.
            session.indexer.cover(session.resolve(wanted), "push", progress=session.on_progress)
            report = session.index(wanted, trigger="push")
        tree = bytes.fromhex(report.tree)
        commit = bytes.fromhex(report.commit) if report.commit else None
        if session.snapshots.covered(tree) is None:
            raise BlobsMissing(
                f"files of {report.revision} are not in this clone, so it cannot be indexed as a whole: "
                "`git ctx index --fetch` of this revision gets them, then push again"
            )
        time = session.repository.commit_info(commit).committer_time if commit else None
        for layer in layers:
            if layer.model is not None and layer.snapshots.covered(tree) is None:
                raise CtxError(
                    f"another process is having {report.revision} embedded by {layer.model_name}: push again "
                    "when it is done"
                )
            selected.append(Selected(layer, tree, commit, time))
    sign = session.repository.settings.get_bool("commit.gpgSign", False)
    counted = (segment for _, segment in session.catalog.segments())
    words = Words(session, counted) if selection.words else None
    with share.locked():
        return Publisher(share, layers, words).publish(selected, sign=sign, announce=announce)
