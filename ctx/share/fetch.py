"""`git ctx fetch` without its command line: selects trees and paths, and takes their clusters."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ctx.errors import CtxError, Decoding, GitFailed
from ctx.git.repository import Repository
from ctx.share.layers import Layer, layers_of
from ctx.share.remote import find_remote
from ctx.share.take import FetchReport, Taken, take
from ctx.share.transport import ShareRepository
from ctx.storage.cluster_key import Member
from ctx.storage.clusters import document_key
from ctx.storage.document_index import DocumentIndex
from ctx.storage.partition import Cluster
from ctx.storage.sharing import mark_shared, requested_recently

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_NAMED = 3
"""Maximum number of refused clusters that a message names."""
SKIPPED = b"S "
"""Tag of `git ls-files -t` for a file that a sparse checkout leaves out."""


def fetch(
    session: SearchSession,
    remote: str | None,
    revisions: Sequence[str] = (),
    *,
    paths: Sequence[str] = (),
    sparse: bool = False,
    may_ask: bool = True,
) -> FetchReport:
    """Take from a remote the missing clusters of trees (of HEAD by default).

    `paths` are git pathspecs; `sparse` selects the files of the sparse checkout.
    Raises `RemoteFailed`.
    """
    names: Sequence[str | None] = revisions or [None]
    trees = [session.resolve(name).tree for name in names]
    if session.repository.settings.is_partial_clone:
        for tree in trees:
            _bring_rules(session.repository, tree)
    requests = [
        (
            layer,
            list(
                {one.key: one for tree in trees for one in layer.missing(tree, session.repository)}.values()
            ),
        )
        for layer in layers_of(session)
    ]
    return _take(session, remote, requests, _wanted(session.repository, paths, sparse), may_ask)


def _bring_rules(repository: Repository, tree: bytes) -> None:
    """Fetch into a partial clone the few files that determine the clusters of a tree."""
    from ctx.git.promised import fetch_missing

    # Without them most clusters are the same; the others count as missing.
    with suppress(GitFailed):
        fetch_missing(repository, tree, lambda: (), lambda _: None)


def fetch_on_miss(session: SearchSession, tree: bytes) -> str | None:
    """Take the missing clusters of a tree from the default remote, without asking for a password.

    Return a message if that failed.
    """
    try:
        # A search works without the shared index, so no error here may stop it.
        with Decoding("the shared index"):
            requests = [(layer, list(layer.missing(tree, session.reader))) for layer in layers_of(session)]
            (_, own), *others = requests
            if own or (any(missing for _, missing in others) and not requested_recently(session.store, tree)):
                report = _take(session, None, requests, None, may_ask=False)
                return _problem(report)
    except (CtxError, OSError, subprocess.SubprocessError) as error:
        why = " ".join(str(error).split()) or type(error).__name__
        return f"the shared index could not be used: {why}"
    return None


def _problem(report: FetchReport) -> str | None:
    """Return the warning of an implicit fetch, or None."""
    refused = [*report.own.refused, *(report.own.words.refused if report.own.words is not None else ())]
    if report.remote is not None:
        refused += report.remote.refused
        if report.remote.problem is not None:
            return report.remote.problem
    if not refused:
        return None
    named = "; ".join(f"cluster {key.hex()}: {why}" for key, why in refused[:_NAMED])
    more = f" and {len(refused) - _NAMED:,} more" if len(refused) > _NAMED else ""
    return f"invalid clusters of the shared index were refused and are rebuilt here: {named}{more}"


def _take(
    session: SearchSession,
    remote: str | None,
    requests: Sequence[tuple[Layer, Sequence[Cluster]]],
    wanted: Callable[[Member], bool] | None,
    may_ask: bool,
) -> FetchReport:
    found = find_remote(session.repository, remote)
    share = ShareRepository(session.repository, session.store, found, may_ask=may_ask)
    signed = session.repository.settings.get_bool("ctx.requireSigned", False)
    with share.locked():
        taken = take(share, requests, wanted=wanted, signed=signed)
    if taken is None:
        nothing = [Taken(layer.model_name, 0, 0, len(missing), []) for layer, missing in requests]
        return FetchReport(False, nothing[0], nothing[1] if len(nothing) > 1 else None)
    if any(one.taken for one in taken):
        mark_shared(session.store)
        session.snapshots.forget_partial()
        _note_documents(session, requests[0][1])
    return FetchReport(True, taken[0], taken[1] if len(taken) > 1 else None, share.has_sent_all)


def _note_documents(session: SearchSession, requested: Sequence[Cluster]) -> None:
    """Record fetched documents so that other trees can use them too."""
    lacking = set(session.clusters.absent(one.key for one in requested))
    documents = {
        document_key(member): one.key for one in requested if one.key not in lacking for member in one.members
    }
    DocumentIndex(session.store, str(session.descriptor)).add(documents, session.clusters)


def _wanted(repository: Repository, paths: Sequence[str], sparse: bool) -> Callable[[Member], bool] | None:
    if not paths and not sparse:
        return None
    checked_out = _checked_out(repository) if sparse else None
    matches = None
    if paths:
        from ctx.git.pathspec import compile_pathspecs

        matches = compile_pathspecs(paths, repository.prefix, repository.work_tree)

    def wanted(member: Member) -> bool:
        return (checked_out is None or member.path in checked_out) and (
            matches is None or matches(member.path)
        )

    return wanted


def _checked_out(repository: Repository) -> set[bytes]:
    """Return the paths that a sparse checkout has on disk."""
    listing = repository.git("ls-files", "-t", "-z", "--full-name", ":/")
    return {line[2:] for line in listing.split(b"\0") if line and not line.startswith(SKIPPED)}
