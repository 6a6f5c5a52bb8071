"""Fetching the objects that indexing needs and a remote has promised to a partial clone.

Apart from this, git-ctx never lets git contact a remote of this repository, and it does so only on request.
All objects are requested at once, as git does for a checkout (`promisor-remote.c`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctx.errors import GitFailed
from ctx.git import process
from ctx.git.formats import DIRECTORY_MODE
from ctx.git.path_rules import RULE_FILES
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


def fetch_missing(
    repository: Repository, tree: bytes, files: Callable[[], Iterable[bytes]], announce: Callable[[int], None]
) -> int:
    """Fetch the missing subtrees of a tree, then rule files, then `files`, each in bulk.

    `files` returns the blobs selected by the path rules; it is called when the rule files are present.
    `announce` is called with the number of objects before each fetch. Returns the number of fetched objects.
    Raises GitFailed.
    """
    fetched = 0

    def fetch(oids: Iterable[bytes]) -> bool:
        nonlocal fetched
        missing = repository.objects.absent(list(dict.fromkeys(oids)))
        if missing:
            announce(len(missing))
            _fetch_promised(repository, missing)
            fetched += len(missing)
        return bool(missing)

    while True:
        absent: list[bytes] = []
        rules: list[bytes] = []
        for level, found in repository.tree_levels(tree):
            absent += level.keys() - found.keys()
            rules += [
                entry.oid
                for entries in found.values()
                for entry in entries
                if entry.name in RULE_FILES and entry.mode != DIRECTORY_MODE
            ]
        if not fetch(absent):
            break
        # A fetched tree brings what is below it, but not what is below the trees that were here.
    fetch(rules)
    fetch(files())
    return fetched


def _fetch_promised(repository: Repository, oids: Sequence[bytes]) -> None:
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
