"""Fetching objects that a remote has promised to a partial clone.

Apart from this, git-ctx never lets git contact a remote of this repository, and it does so only on request.
All objects are requested at once, as git does for a checkout (`promisor-remote.c`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ctx.errors import GitFailed
from ctx.git import process
from ctx.git.repository import Repository
from ctx.text.pluralize import pluralize

_FETCH = (
    # No negotiation: the objects are needed whatever is here already.
    *("-c", "fetch.negotiationAlgorithm=noop"),
    # A fetch for an index must not start maintenance of the repository.
    *("-c", "maintenance.auto=false", "-c", "gc.auto=0", "-c", "fetch.writeCommitGraph=false"),
    *("fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--recurse-submodules=no"),
    *("--filter=blob:none", "--stdin"),
)


def fetch_promised(repository: Repository, oids: Sequence[bytes]) -> None:
    """Fetch objects, and everything in the trees among them except blobs; no reference changes.

    Raises CtxError if the user is offline, and GitFailed, with the messages of the remotes, unless all of
    them are here afterwards.
    """
    left, reason = list(oids), "no remote has promised them; `git fsck` looks for damage"
    repository.settings.refuse_offline("who has promised them")
    for remote in repository.settings.promisors:
        lines = b"".join(oid.hex().encode() + b"\n" for oid in left)
        done = repository.location.run(*_FETCH, remote, stdin=lines, online=True)
        left = repository.objects.absent(left)
        if not left:
            return
        reason = process.error_message(done) if done.returncode else f"'{remote}' does not have them"
    raise GitFailed(
        f"{pluralize(len(left), 'object')} of this tree could not be fetched: {reason}\n"
        "Without --fetch, `git ctx index` and `git ctx search` use only the objects that are here."
    )
