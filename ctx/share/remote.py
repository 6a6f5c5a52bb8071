"""Choice of the git remote, and the settings that git needs for it. Nothing here connects to it."""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from typing import NamedTuple

from ctx.errors import UsageError
from ctx.git.repository import Repository

_SECTIONS = ("http.", "https.", "credential.", "url.", "ssh.", "protocol.", "user.", "committer.", "gpg.")
_NAMES = frozenset({"core.sshcommand", "core.askpass", "core.gitproxy", "commit.gpgsign"})
_OF_REMOTE = frozenset({"url", "pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs"})
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")


class Remote(NamedTuple):
    """A remote by the name passed to git; `slug` is its component in ref names.

    `settings` are those of the user's repository that affect the transport, in git's order.
    """

    name: str
    slug: str
    settings: tuple[tuple[str, str], ...]


def find_remote(repository: Repository, wanted: str | None) -> Remote:
    """Return the remote of that name, address or path; by default the current branch's upstream, or origin.

    Raises UsageError if there is no such remote, and CtxError in offline mode.
    """
    known = repository.settings.remotes
    if wanted is None:
        wanted = repository.remotes()[0] if known else None
        if wanted is None:
            raise UsageError(
                "this repository has no remote: name an address or a path, or add one with `git remote add`"
            )
    elif wanted not in known and not _is_address(repository, wanted):
        names = ", ".join(known) or "none"
        raise UsageError(f"there is no remote '{wanted}' (known: {names}); an address or a path works too")
    repository.settings.refuse_offline(f"the remote '{wanted}'")
    slug = wanted
    if not _PLAIN.fullmatch(wanted):
        slug = "x" + blake2b(os.fsencode(wanted), digest_size=10).hexdigest()
    return Remote(wanted, slug, _taken_over(repository, wanted))


def _is_address(repository: Repository, wanted: str) -> bool:
    if wanted.startswith("-"):
        return False
    return ":" in wanted or "/" in wanted or os.path.exists(os.path.join(directory(repository), wanted))


def directory(repository: Repository) -> str:
    """Return the directory to run git in, so that relative addresses resolve as for the user."""
    return repository.work_tree or repository.git_dir


def _taken_over(repository: Repository, remote: str) -> tuple[tuple[str, str], ...]:
    """Return the transport settings of the repository; git reads global and system settings itself."""
    found: list[tuple[str, str]] = []
    scopes = [["--local"]]
    if repository.settings.get_bool("extensions.worktreeConfig", False):
        scopes.append(["--worktree"])
    for scope in scopes:
        done = repository.run("config", "--null", "--list", "--includes", *scope)
        for entry in done.stdout.split(b"\0")[:-1]:
            name, has_value, value = os.fsdecode(entry).partition("\n")
            section, _, rest = name.partition(".")
            subsection, _, variable = rest.rpartition(".")
            of_remote = section == "remote" and subsection == remote and variable in _OF_REMOTE
            if of_remote or name.startswith(_SECTIONS) or name in _NAMES:
                found.append((name, value if has_value else "true"))
    return tuple(found)
