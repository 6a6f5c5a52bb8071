"""The git that runs in the repository through which an index travels.

That has a configuration of its own; what of the user's repository matters to the transport is handed to git
for each command. No hook of his runs, and nothing leads git to his repository.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from ctx.errors import RemoteFailed, StoreUnusable
from ctx.git import process
from ctx.git.repository import Repository
from ctx.share.remote import Remote, directory

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
"""Settings of the user's that mean something else for this repository than for his own."""
_SAID = 8
"""So many lines of git's words are passed on, the last ones."""


class Unsound(StoreUnusable):
    """git cannot work in our repository: something in it is damaged, or there is no room."""


class ShareGit:
    """Runs git in the bare repository at `path`, with what matters of the user's `repository`."""

    def __init__(self, repository: Repository, remote: Remote, path: str, *, may_ask: bool) -> None:
        """`may_ask` lets git ask for a password on the terminal."""
        self._repository = repository
        self._remote = remote
        self._path = path
        self._may_ask = may_ask

    def run(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        network: bool = False,
        identity: bool = False,
        index: str | None = None,
        at_home: bool = True,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run git to its end, whatever that is; nothing is asked of a remote without `network`.

        `identity` gives a name to who makes a commit where git knows none, `index` is the file to use as the
        index. Without `at_home` the path of the repository is the last argument, so that it can be made.
        """
        words = ["git", f"--git-dir={self._path}", *arguments] if at_home else ["git", *arguments, self._path]
        if not at_home:
            words.insert(2, f"--object-format={self._repository.object_format}")
        variables = self._environment(network)
        if identity:
            variables |= self._identity()
        if index is not None:
            variables["GIT_INDEX_FILE"] = index
        try:
            return subprocess.run(
                words,
                cwd=directory(self._repository),
                input=stdin,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                env=variables,
            )
        except FileNotFoundError:
            raise process.no_git() from None

    def output(self, *arguments: str, stdin: bytes | None = None, index: str | None = None) -> bytes:
        """What git prints. Raises `Unsound` where it fails."""
        done = self.run(*arguments, stdin=stdin, index=index)
        if done.returncode:
            raise Unsound(f"git failed in {self._path} ({process.complaint(done)})")
        return done.stdout

    @contextmanager
    def started(self, *arguments: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """A git to write to and read from; it has ended well when the block ends. Raises `Unsound`."""
        words = ["git", f"--git-dir={self._path}", *arguments]
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self._environment(False)
        ) as git:
            assert git.stdin is not None
            assert git.stdout is not None
            # Where its pipe breaks it has ended, and said why.
            with suppress(BrokenPipeError):
                yield git.stdin, git.stdout
            with suppress(BrokenPipeError):
                git.stdin.close()
        if git.returncode:
            raise Unsound(f"git failed in {self._path}")

    def _environment(self, network: bool) -> dict[str, str]:
        """The variables for a git in our repository: those that lead to the user's are gone."""
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

    def _identity(self) -> dict[str, str]:
        """Who makes the commit, where git knows nobody."""
        known = process.run(self._repository.place.directory, ["var", "GIT_COMMITTER_IDENT"])
        if known.returncode == 0:
            return {}
        names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
        return dict.fromkeys(names[0], "git-ctx") | dict.fromkeys(names[1], "git-ctx@localhost")

    def failed(self, what: str, done: subprocess.CompletedProcess[bytes]) -> RemoteFailed:
        """The error for the user where a remote could not be read or written."""
        name = self._remote.name
        lines = dict.fromkeys(" ".join(line.split()) for line in process.complaint(done).splitlines())
        # git may say the same of each object.
        return RemoteFailed(f"'{name}' {what}: {' '.join(list(lines)[-_SAID:])}")
