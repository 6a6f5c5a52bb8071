"""The location of a repository on disk, as git finds it."""

from __future__ import annotations

import os
from typing import NamedTuple

from ctx.errors import NotARepository
from ctx.git import process


class Place(NamedTuple):
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
    def objects(self) -> str:
        """Object directory."""
        return self.variable("GIT_OBJECT_DIRECTORY") or os.path.join(self.common_dir, "objects")


def locate(directory: str, without: tuple[str, ...] = ()) -> Place:
    """Locate the repository around a directory with one git process. Raises NotARepository.

    `without` names variables that are not passed on to git.
    """
    questions = (
        "--is-bare-repository",
        "--show-object-format",
        "--absolute-git-dir",
        "--git-common-dir",
        "--show-prefix",
        "--show-toplevel",  # last: it fails where there is no work tree
    )
    done = process.run(directory, ["rev-parse", *questions], variables=dict.fromkeys(without))
    answers = done.stdout.split(b"\n")[:-1]
    if len(answers) < len(questions) - 1:
        raise NotARepository(_refusal(directory, process.complaint(done)))
    if len(answers) > len(questions) - (done.returncode != 0):  # a directory name holds a newline
        answers = [
            process.output(directory, ["rev-parse", question], variables=dict.fromkeys(without))[:-1]
            for question in questions[: len(questions) - (done.returncode != 0)]
        ]
    is_bare, object_format, git_dir, common_dir, prefix, *top = answers
    return Place(
        directory,
        os.path.realpath(os.fsdecode(git_dir)),
        os.path.realpath(os.path.join(directory, os.fsdecode(common_dir))),
        os.fsdecode(top[0]) if top else None,
        is_bare == b"true",
        object_format.decode(),
        prefix,
        without=without,
    )


def _refusal(directory: str, said: str) -> str:
    if said.startswith("not a git repository"):
        return f"'{directory}' lies in no git repository; go into one, pass -C <path>, or run `git init`"
    if "repository extension" in said or "repo version" in said:
        words = " ".join(said.split())
        return (
            f"the git on the PATH is too old for the repository at '{directory}' ({words}): "
            "put a newer git first on the PATH; reftable needs 2.45"
        )
    return said
