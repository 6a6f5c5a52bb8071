"""`git ctx push` without its command line: which snapshots, and that they are there to be published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ctx.share.publish import Publisher, PushReport, Selected
from ctx.share.remote import find_remote
from ctx.share.transport import ShareRepository
from ctx.values import Progress

if TYPE_CHECKING:
    from ctx.engine import RepositoryIndex


class Selection(NamedTuple):
    """What to publish: revisions, and the tips of all local branches and of all tags; nothing means HEAD."""

    revisions: Sequence[str] = ()
    branches: bool = False
    tags: bool = False


def push(
    index: RepositoryIndex,
    remote: str | None,
    selection: Selection,
    *,
    progress: Callable[[Progress], None] | None = None,
    announce: Callable[[int], None] | None = None,
    may_ask: bool = True,
) -> PushReport:
    """Publish snapshots on a remote; what is not indexed is indexed first. Raises `RemoteFailed`.

    `announce` is told how many bytes are about to go, when this clone has not met the remote's index before.
    """
    share = ShareRepository(
        index.repository, index.store, find_remote(index.repository, remote), may_ask=may_ask
    )
    names: list[str | None] = list(selection.revisions)
    for name, _ in index.repository.references():
        if (selection.branches and name.startswith(b"refs/heads/")) or (
            selection.tags and name.startswith(b"refs/tags/")
        ):
            names.append(name.decode("utf-8", "surrogateescape"))
    selected = []
    for wanted in names or [None]:
        report = index.index(wanted, trigger="push", progress=progress)
        time = index.repository.commit_info(report.commit).committer_time if report.commit else None
        selected.append(Selected(report.tree, report.commit, time))
    sign = index.repository.settings.get_bool("commit.gpgSign", False)
    with share.locked():
        publisher = Publisher(share, index.snapshots, index.clusters, index.descriptor)
        return publisher.publish(selected, sign=sign, announce=announce)
