"""The git remote of an index, and git commands in the transport repository.

That repository has its own configuration; settings of the user's repository that affect the transport are
passed with each command. The user's hooks never run, and git never uses the user's repository.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import IO, NamedTuple

from ctx.errors import RemoteFailed, StoreUnusable, UsageError
from ctx.git import process
from ctx.git.repository import Repository

_SECTIONS = ("http.", "https.", "credential.", "url.", "ssh.", "protocol.", "user.", "committer.", "gpg.")
_NAMES = frozenset({"core.sshcommand", "core.askpass", "core.gitproxy", "commit.gpgsign"})
_OF_REMOTE = frozenset({"url", "pushurl", "proxy", "proxyauthmethod", "uploadpack", "receivepack", "vcs"})
_CREDENTIALS = re.compile(r"//[^/]*@")
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}")
_OURS = {
    "core.hooksPath": os.devnull,
    "fetch.recurseSubmodules": "false",
    "fetch.prune": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "push.followTags": "false",
    "push.recurseSubmodules": "no",
    "protocol.version": "2",
}
"""Overrides of user settings that must not apply to this repository."""
_QUOTED_LINES = 8
"""Number of last lines of git's output that an error quotes."""


class Remote(NamedTuple):
    """A remote by the name passed to git; `slug` is its component in ref names.

    `settings` are those of the user's repository that affect the transport, in git's order.
    """

    name: str
    slug: str
    settings: tuple[tuple[str, str], ...]

    @property
    def shown(self) -> str:
        """The name for messages: an address without user and password, as git shows it."""
        return _CREDENTIALS.sub("//", self.name)


def find_remote(repository: Repository, name: str | None) -> Remote:
    """Return the remote of that name, address or path; by default the current branch's upstream, or origin.

    Raises UsageError if there is no such remote, and CtxError in offline mode.
    """
    known = repository.settings.remotes
    if name is None:
        name = repository.remotes()[0] if known else None
        if name is None:
            raise UsageError(
                "this repository has no remote: name an address or a path, or add one with `git remote add`"
            )
    elif name not in known and not _is_address(repository, name):
        names = ", ".join(known) or "none"
        text = f"there is no remote '{name}' (known: {names}); an address or a path works too"
        if repository.commit_of(name) is not None:
            text = f"'{name}' is a revision and no remote (known: {names}); give a revision with --revision"
        raise UsageError(text)
    slug = name
    if not _PLAIN.fullmatch(name):
        slug = "x" + blake2b(os.fsencode(name), digest_size=10).hexdigest()
    remote = Remote(name, slug, _transport_settings(repository, name))
    repository.settings.refuse_offline(f"the remote '{remote.shown}'")
    return remote


def _is_address(repository: Repository, name: str) -> bool:
    path = os.path.join(_directory(repository), name)
    return not name.startswith("-") and (":" in name or "/" in name or os.path.exists(path))


def _directory(repository: Repository) -> str:
    """Return the directory to run git in, so that relative addresses resolve as for the user."""
    return repository.work_tree or repository.git_dir


def _transport_settings(repository: Repository, remote: str) -> tuple[tuple[str, str], ...]:
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


class Unsound(StoreUnusable):
    """git failed in the transport repository: it is damaged, or the disk is full."""


class ShareGit:
    """Runs git in the bare repository at `path`, with the transport settings of the user's `repository`."""

    def __init__(self, repository: Repository, remote: Remote, path: str, *, may_ask: bool) -> None:
        """Set up the commands; `may_ask` lets git ask for a password on the terminal."""
        self._repository = repository
        self._remote = remote
        self._path = path
        self._may_ask = may_ask

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        network: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git and return its result, whatever its status. Without `network` no remote can be used."""
        environment = self._environment(network) | dict(variables or {})
        return process.execute(self._words(arguments), environment, stdin, _directory(self._repository))

    def output(
        self, *arguments: str, stdin: bytes | None = None, variables: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the output of git. Raises `Unsound` if it fails."""
        done = self.run(*arguments, stdin=stdin, variables=variables)
        if done.returncode:
            raise Unsound(f"git failed in {self._path} ({process.error_message(done)})")
        return done.stdout

    def started(self, *arguments: str) -> AbstractContextManager[tuple[IO[bytes], IO[bytes]]]:
        """Start git, with its stdin and stdout; wait for it at the end. Raises `Unsound` if it failed."""
        failure = Unsound(f"git failed in {self._path}")
        return process.piped(self._words(arguments), self._environment(False), failure)

    def _words(self, arguments: Sequence[str]) -> list[str]:
        return ["git", f"--git-dir={self._path}", *arguments]

    def _environment(self, network: bool) -> dict[str, str]:
        """Return the environment for git, without variables that refer to the user's repository."""
        found = process.without()
        found["LC_ALL"] = "C"
        if not network:
            found |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
        if not self._may_ask:
            found["GIT_TERMINAL_PROMPT"] = "0"
        try:
            count = int(found.get("GIT_CONFIG_COUNT", "0"))
        except ValueError:
            count = 0
        for name, value in [*self._remote.settings, *_OURS.items()]:
            found[f"GIT_CONFIG_KEY_{count}"], found[f"GIT_CONFIG_VALUE_{count}"] = name, value
            count += 1
        found["GIT_CONFIG_COUNT"] = str(count)
        return found

    def identity(self) -> dict[str, str]:
        """Return variables that name a committer, if git knows none."""
        if self._repository.run("var", "GIT_COMMITTER_IDENT").returncode == 0:
            return {}
        names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
        return dict.fromkeys(names[0], "git-ctx") | dict.fromkeys(names[1], "git-ctx@localhost")

    def failed(self, what: str, done: subprocess.CompletedProcess[bytes]) -> RemoteFailed:
        """Return the error for a remote that could not be read or written."""
        name = self._remote.shown
        lines = dict.fromkeys(" ".join(line.split()) for line in process.error_message(done).splitlines())
        # git may repeat a line for each object.
        return RemoteFailed(f"'{name}' {what}: {' '.join(list(lines)[-_QUOTED_LINES:])}")
