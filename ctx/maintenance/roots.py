"""Roots of garbage collection: the trees that git reaches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ctx.errors import NothingCommitted, UnknownRevision
from ctx.git.formats import commit_tree, parse_tag
from ctx.git.repository import Repository

_STASH = b"refs/stash"
"""Older stash entries are in its reflog only, and never expire."""


def reachable_trees(repository: Repository, since: float) -> set[bytes]:
    """Return the trees of all refs, of every work tree's HEAD, and of their reflog entries after `since`.

    Includes the tree of `ctx.revision`. Raises GitFailed; then nothing may be removed.
    """
    references = repository.git("for-each-ref", "--format=%(objectname)").split()
    oids = {bytes.fromhex(oid.decode()) for oid in references}
    oids |= set(_heads(repository)) | set(_reflogs(repository, since))
    return {*_trees(repository, oids), *_configured(repository)}


def _configured(repository: Repository) -> Iterator[bytes]:
    revision = repository.settings.get("ctx.revision")
    try:
        if revision:
            yield repository.resolve_tree(revision).tree
    except (UnknownRevision, NothingCommitted):
        pass


def _heads(repository: Repository) -> Iterator[bytes]:
    """Yield the HEAD of each work tree, even if its directory is missing: it may be on an unmounted disk."""
    for line in repository.git("worktree", "list", "--porcelain").splitlines():
        name, _, value = line.partition(b" ")
        if name == b"HEAD" and value.strip(b"0"):
            yield bytes.fromhex(value.decode())


def _reflogs(repository: Repository, since: float) -> Iterator[bytes]:
    """Yield the reflog entries of all refs after `since`, and for each ref the last one before it."""
    listing = repository.git(
        "-c", "log.showSignature=false", "log", "--walk-reflogs", "--all", "--no-patch", "--date=unix",
        "--format=%H %gD",
    )  # fmt: skip
    ended: set[bytes] = set()
    for line in listing.splitlines():
        oid, _, selector = line.partition(b" ")
        name, _, when = selector.rpartition(b"@{")
        if name in ended and name != _STASH:
            continue
        yield bytes.fromhex(oid.decode())
        if int(when.rstrip(b"}")) < since:
            ended.add(name)


def _trees(repository: Repository, oids: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the trees of commits, tags and trees; missing objects are skipped."""
    seen: set[bytes] = set()
    left = sorted(oids)
    while left:
        seen.update(left)
        headers = repository.objects.headers(left)
        kinds = [(header.oid, header.kind) for header in headers if header is not None]
        yield from (oid for oid, kind in kinds if kind == "tree")
        following: set[bytes] = set()
        for found in repository.objects.read_many([oid for oid, kind in kinds if kind in ("commit", "tag")]):
            if found is not None and found.kind == "commit":
                yield commit_tree(found.data)
            elif found is not None:
                following.add(parse_tag(found.data))
        left = sorted(following - seen)
