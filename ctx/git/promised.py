"""Getting objects that a remote has promised to a partial clone.

The only place from which this repository's own git talks to a remote, and only because the user asked for it.
All objects are asked for at once, as git itself does for a checkout (`promisor-remote.c`).
"""

from __future__ import annotations

from collections.abc import Sequence

from ctx.errors import GitFailed
from ctx.git import process
from ctx.git.alternates import variables_of
from ctx.git.repository import Repository
from ctx.text.pluralize import counted

_FETCH = (
    # Nothing is said of what is here already: the objects are wanted whatever else there is.
    *("-c", "fetch.negotiationAlgorithm=noop"),
    # A fetch for an index starts no upkeep of the repository.
    *("-c", "maintenance.auto=false", "-c", "gc.auto=0", "-c", "fetch.writeCommitGraph=false"),
    *("fetch", "--quiet", "--no-tags", "--no-prune", "--no-write-fetch-head", "--recurse-submodules=no"),
    *("--filter=blob:none", "--stdin"),
)


def fetch_promised(repository: Repository, oids: Sequence[bytes]) -> None:
    """Fetch objects, and all that a tree among them names but for blobs; no reference changes.

    Raises CtxError where the user is offline, and GitFailed, with the words of the remotes, unless all of
    them are here afterwards.
    """
    left, said = list(oids), "no remote has promised them; `git fsck` looks for damage"
    repository.settings.refuse_offline("who has promised them")
    for remote in repository.settings.promisors:
        lines = b"".join(oid.hex().encode() + b"\n" for oid in left)
        done = process.run(
            repository.place.directory,
            [*_FETCH, remote],
            lines,
            variables_of(repository.place),
            online=True,
        )
        left = repository.objects.absent(left)
        if not left:
            return
        said = process.complaint(done) if done.returncode else f"'{remote}' does not have them"
    raise GitFailed(
        f"{counted(len(left), 'object')} of this tree could not be fetched: {said}\n"
        "Without --fetch, `git ctx index` and `git ctx search` make do with what is here."
    )
