"""The location of a repository on disk, as git finds it, and git processes that read it."""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from ctx.errors import NotARepository
from ctx.git import process

ALTERNATES = "GIT_ALTERNATE_OBJECT_DIRECTORIES"


class Location(NamedTuple):
    """Location of a repository. `prefix` is the directory relative to the root, empty or ending in "/".

    `scratch` is a further object directory to read from, empty for none. `without` names environment
    variables of the user that belong to another repository.
    """

    directory: str
    git_dir: str
    common_dir: str
    work_tree: str | None
    is_bare: bool
    object_format: str
    prefix: bytes
    scratch: str = ""
    without: tuple[str, ...] = ()

    def variable(self, name: str) -> str | None:
        """Return an environment variable that applies to this repository."""
        return None if name in self.without else os.environ.get(name)

    @property
    def variables(self) -> dict[str, str | None]:
        """Variables that make git read this repository and no other, and its scratch objects too."""
        variables: dict[str, str | None] = dict.fromkeys(self.without)
        if self.scratch:
            variables[ALTERNATES] = with_alternate(self.variable(ALTERNATES), self.scratch)
        return variables

    @property
    def objects(self) -> str:
        """Object directory."""
        return self.variable("GIT_OBJECT_DIRECTORY") or os.path.join(self.common_dir, "objects")

    def run(
        self, *arguments: str | bytes, stdin: bytes | None = None, online: bool = False
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that reads this repository, see `process.run`."""
        return process.run(self.directory, arguments, stdin, self.variables, online)


def with_alternate(listed: str | None, directory: str) -> str:
    """Return the value of ALTERNATES with one more directory in front."""
    if os.pathsep in directory or directory.startswith('"'):
        directory = '"' + directory.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return os.pathsep.join(filter(None, [directory, listed]))


def locate(directory: str, without: tuple[str, ...] = ()) -> Location:
    """Locate the repository around a directory with one git process. Raises NotARepository.

    `without` names variables that are not passed on to git.
    """
    variables = dict.fromkeys(without)
    questions = (
        "--is-bare-repository",
        "--show-object-format",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-prefix",
        "--show-toplevel",  # last: it fails where there is no work tree
    )
    done = process.run(directory, ["rev-parse", *questions], variables=variables)
    answers = done.stdout.split(b"\n")[:-1]
    if len(answers) < len(questions) - 1:
        raise NotARepository(_refusal(directory, process.error_message(done)))
    if len(answers) > len(questions) - (done.returncode != 0):  # a directory name holds a newline
        answers = [
            process.output(directory, ["rev-parse", question], variables=variables)[:-1]
            for question in questions[: len(questions) - (done.returncode != 0)]
        ]
    is_bare, object_format, git_dir, common_dir, prefix, *top = answers
    return Location(
        directory,
        os.path.realpath(os.fsdecode(git_dir)),
        os.path.realpath(os.path.join(directory, os.fsdecode(common_dir))),
        os.fsdecode(top[0]) if top else None,
        is_bare == b"true",
        object_format.decode(),
        prefix,
        without=without,
    )


def locate_other(directory: str) -> Location | None:
    """Locate a repository whatever the environment names; None if there is none, or git refuses it."""
    try:
        return locate(directory, process.OF_ONE_REPOSITORY) if os.path.isdir(directory) else None
    except NotARepository:
        return None


def _refusal(directory: str, message: str) -> str:
    if message.startswith("not a git repository"):
        return f"'{directory}' lies in no git repository; go into one, pass -C <path>, or run `git init`"
    if "repository extension" in message or "repo version" in message:
        return (
            f"the git on the PATH is too old for the repository at '{directory}' "
            f"({' '.join(message.split())}): put a newer git first on the PATH; reftable needs 2.45"
        )
    return message
