"""Starting git: the environment it is given, and the words it fails with.

Every git that git-ctx starts for reading gets the same environment: no optional locks, no replace refs, no
fetching of missing objects, messages in English. What the user set besides (`GIT_DIR`, `-c` settings, which
travel in `GIT_CONFIG_*`, an alternate index) is kept.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO

from ctx.errors import CtxError, GitFailed

READ_ONLY = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    # git before 2.45 does not know the variable above; without a transport it cannot fetch either.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


_READ_AT_ONCE = 1 << 20

OFFLINE = ("GIT_ALLOW_PROTOCOL", "GIT_TERMINAL_PROMPT")
"""What a git that may talk to a remote does not get."""

OF_ONE_REPOSITORY = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REFERENCE_BACKEND",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""What must not be handed on to a git that works in another repository.

These are the variables that some version of `git rev-parse --local-env-vars` lists, and what a receiving git
sets for its hooks. The user's `-c` settings (`GIT_CONFIG_PARAMETERS`, `GIT_CONFIG_COUNT`) are handed on: git
hands them on to submodules as well.
"""


Variables = Mapping[str, str | None]
"""Variables to set, or with None to take away."""


def environment(variables: Variables | None = None, *, online: bool = False) -> dict[str, str]:
    """The user's variables, those of a git that only reads, and some more.

    Only with `online` can it talk to a remote.
    """
    given = variables or {}
    ours = {name: value for name, value in READ_ONLY.items() if not (online and name in OFFLINE)}
    wanted = {name: value for name, value in given.items() if value is not None}
    return {**without(given.keys() - wanted.keys()), **ours, **wanted}


def without(names: Container[str] = OF_ONE_REPOSITORY) -> dict[str, str]:
    """Return the user's variables but for some; by default those that are about one repository."""
    return {name: value for name, value in os.environ.items() if name not in names}


def command(directory: str, arguments: Sequence[str | bytes]) -> list[str | bytes]:
    """The words of a git command line that runs in `directory`."""
    return ["git", "-C", directory, "--no-optional-locks", *arguments]


def run(
    directory: str,
    arguments: Sequence[str | bytes],
    stdin: bytes | None = None,
    variables: Variables | None = None,
    online: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run git to its end in `directory`; the caller looks at the status. Raises CtxError without a git.

    `environment` takes `variables` and `online`.
    """
    try:
        return subprocess.run(
            command(directory, arguments),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=environment(variables, online=online),
        )
    except FileNotFoundError:
        raise no_git() from None


def output(
    directory: str,
    arguments: Sequence[str | bytes],
    stdin: bytes | None = None,
    variables: Variables | None = None,
) -> bytes:
    """Standard output of a git command that has to succeed. Raises GitFailed with git's own words."""
    done = run(directory, arguments, stdin, variables)
    if done.returncode:
        raise GitFailed(complaint(done))
    return done.stdout


@contextmanager
def printing(
    directory: str, arguments: Sequence[str | bytes], variables: Variables | None = None
) -> Iterator[IO[bytes]]:
    """What a git prints that may print without end: it is stopped when the block ends.

    Raises GitFailed where git fails before that, and CtxError without a git.
    """
    try:
        running = subprocess.Popen(
            command(directory, arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(variables),
        )
    except FileNotFoundError:
        raise no_git() from None
    assert running.stdout is not None
    try:
        yield running.stdout
        if running.wait():
            raise GitFailed(f"git {os.fsdecode(arguments[0])} failed")
    finally:
        running.kill()
        running.stdout.close()
        running.wait()


def pieces(stream: IO[bytes]) -> Iterator[bytes]:
    """The pieces of what git prints with `-z`, one after the other; a last one without its null byte too."""
    rest = b""
    while data := stream.read(_READ_AT_ONCE):
        *whole, rest = (rest + data).split(b"\0")
        yield from whole
    if rest:
        yield rest


def complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git said on standard error, without its leading `fatal: `."""
    said = os.fsdecode(done.stderr).strip()
    return said.removeprefix("fatal: ") or f"git ended with status {done.returncode} and said nothing"


def no_git() -> CtxError:
    """The error for a PATH without git."""
    return CtxError("git was not found on the PATH; install it, or add its directory to PATH")
