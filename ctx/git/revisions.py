"""Resolving the revision of a command to one tree.

The order is that of docs/design.md, section "Resolution"; the answer names the rule that applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ctx.errors import NothingCommitted, UnknownRevision, UsageError
from ctx.git.resolution import BRANCH, CONFIG, DEFAULT_BRANCH, HEAD, LATEST_SNAPSHOT, Resolution

if TYPE_CHECKING:
    from ctx.git.repository import Repository

_IS_EXPRESSION = re.compile(r"[\x00-\x20~^:?*\[\\]|\.\.|@\{")
"""Characters that git-check-ref-format(1) forbids in names: `main~3` is a revision, not a branch."""


def resolve(
    repository: Repository,
    revision: str | None = None,
    branch: str | None = None,
    latest_snapshot: Callable[[], tuple[bytes, bytes | None] | None] = lambda: None,
) -> Resolution:
    """Return the tree that a command is about.

    A name given by the user is resolved exactly, or UnknownRevision is raised. `latest_snapshot` returns tree
    and commit of the most recent snapshot; it is the last resort. Raises NothingCommitted if there is nothing
    at all.
    """
    if revision is not None and branch is not None:
        raise UsageError("--revision and --branch cannot be given together; name one of them")
    if revision is not None:
        return repository.resolve_tree(revision)._replace(revision=_qualified(repository, revision))
    if branch is not None:
        return _branch(repository, branch)
    if configured := repository.settings.get("ctx.revision"):
        try:
            return repository.resolve_tree(configured)._replace(resolved_by=CONFIG)
        except UnknownRevision as error:
            raise UnknownRevision(
                f"{error} (set by ctx.revision; `git config --unset ctx.revision`)"
            ) from None
    if (head := repository.checked_out()) is not None:
        return head
    if (default := repository.default_branch()) is not None:
        name = default.removeprefix("refs/heads/").removeprefix("refs/remotes/")
        return repository.resolve_tree(default)._replace(revision=name, resolved_by=DEFAULT_BRANCH)
    if (latest := latest_snapshot()) is not None:
        tree, commit = latest
        return Resolution(tree, commit, (commit or tree).hex(), LATEST_SNAPSHOT)
    raise NothingCommitted(
        f"nothing is committed in {repository.git_dir} yet; commit something, then ask again"
    )


def resolve_head(repository: Repository) -> Resolution:
    """Return HEAD, ignoring `ctx.revision`; an empty tree if a work tree has no commit yet.

    Raises NothingCommitted if there is no work tree either.
    """
    if (head := repository.checked_out()) is not None:
        return head
    if repository.work_tree is None:
        raise NothingCommitted(f"HEAD of {repository.git_dir} has no commit yet; commit something first")
    return Resolution(repository.empty_tree, None, repository.current_branch() or "HEAD", HEAD)


def _branch(repository: Repository, name: str) -> Resolution:
    """Return a branch of this repository, else one of a remote; never another kind of name."""
    places = ("",) if name.startswith(("refs/heads/", "refs/remotes/")) else ("refs/heads/", "refs/remotes/")
    for place in places:
        if _IS_EXPRESSION.search(name) is None and repository.commit_of(place + name) is not None:
            return repository.resolve_tree(place + name)._replace(revision=name, resolved_by=BRANCH)
    tracking = _tracking(repository, name)
    if len(tracking) == 1:
        return repository.resolve_tree(tracking[0])._replace(
            revision=tracking[0].removeprefix("refs/remotes/"), resolved_by=BRANCH
        )
    if tracking:
        named = ", ".join(one.removeprefix("refs/remotes/") for one in tracking)
        raise UnknownRevision(f"several remotes have a branch '{name}': name one of {named}")
    raise UnknownRevision(
        f"there is no branch '{name}'; `git branch --all` lists them, `git fetch` brings new ones"
    )


def _tracking(repository: Repository, name: str) -> list[str]:
    """Return the remote-tracking branches that a short name may mean, as `git switch` looks for them."""
    if not name or _IS_EXPRESSION.search(name) is not None or name.startswith(("-", "refs/")):
        return []
    listing = repository.git("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{name}")
    return [line.decode("utf-8", "surrogateescape") for line in listing.splitlines()]


def _qualified(repository: Repository, name: str) -> str:
    """Return the name of a revision, with its kind if a tag, a branch and the like share it.

    git takes the first of them in this order, see gitrevisions(7).
    """
    if _IS_EXPRESSION.search(name) is not None or name == "HEAD":
        return name
    places = ("", "tags/", "heads/", "remotes/")
    meant = [place for place in places if repository.commit_of(f"refs/{place}{name}") is not None]
    return name if len(meant) < 2 else meant[0] + name
