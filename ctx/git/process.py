"""Running git: its environment, and errors with its messages.

Every git that git-ctx starts for reading gets the same environment: no optional locks, no replace refs, no
fetching of missing objects, messages in English. Other variables that the user set (`GIT_DIR`, `-c` settings,
which travel in `GIT_CONFIG_*`, an alternate index) are kept.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO

from ctx.errors import CtxError, GitFailed

READ_ONLY = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    # For git before 2.45, which does not know the variable above: without a transport it cannot fetch.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_OFFLINE = ("GIT_ALLOW_PROTOCOL", "GIT_TERMINAL_PROMPT")
"""Variables not set for a git that may contact a remote."""

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
"""Variables not passed on to a git that works in another repository.

These are the variables that some version of `git rev-parse --local-env-vars` lists, and those that a
receiving git sets for its hooks. The user's `-c` settings (`GIT_CONFIG_PARAMETERS`, `GIT_CONFIG_COUNT`) are
passed on, as git does for submodules.
"""

Variables = Mapping[str, str | None]
"""Variables to set, or to remove if None."""

_READ_AT_ONCE = 1 << 20


def environment(variables: Variables | None = None, *, online: bool = False) -> dict[str, str]:
    """Return the user's variables, changed by `variables`, and those for a read-only git.

    It can contact a remote only with `online`.
    """
    changed = {**os.environ, **(variables or {})}
    changed |= {name: value for name, value in READ_ONLY.items() if not (online and name in _OFFLINE)}
    return {name: value for name, value in changed.items() if value is not None}


def without(names: Container[str] = OF_ONE_REPOSITORY) -> dict[str, str]:
    """Return the user's variables except some; by default those that belong to one repository."""
    return {name: value for name, value in os.environ.items() if name not in names}


def command(directory: str, arguments: Sequence[str | bytes]) -> list[str | bytes]:
    """Return a git command line that runs in `directory`."""
    return ["git", "-C", directory, "--no-optional-locks", *arguments]


def run(
    directory: str,
    arguments: Sequence[str | bytes],
    stdin: bytes | None = None,
    variables: Variables | None = None,
    online: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run git to its end in `directory`; the caller checks the status. Raises CtxError without git.

    `variables` and `online` are those of `environment`.
    """
    return execute(command(directory, arguments), environment(variables, online=online), stdin)


def execute(
    words: Sequence[str | bytes],
    environment: Mapping[str, str],
    stdin: bytes | None = None,
    directory: str | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a git command line to its end, in `directory` if given. Raises CtxError without git."""
    try:
        return subprocess.run(
            words,
            cwd=directory,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=environment,
        )
    except FileNotFoundError:
        raise no_git() from None


def output(
    directory: str,
    arguments: Sequence[str | bytes],
    stdin: bytes | None = None,
    variables: Variables | None = None,
) -> bytes:
    """Return the standard output of a git command. Raises GitFailed with git's message."""
    return checked(run(directory, arguments, stdin, variables))


def checked(done: subprocess.CompletedProcess[bytes]) -> bytes:
    """Return the standard output of a git that has ended. Raises GitFailed with git's message."""
    if done.returncode:
        raise GitFailed(error_message(done))
    return done.stdout


def start(
    directory: str,
    arguments: Sequence[str | bytes],
    variables: Variables | None = None,
    *,
    stdin: bool = False,
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    """Start git; return the process and its standard output. With `stdin`, its input is a pipe too.

    Raises CtxError without git.
    """
    try:
        running = subprocess.Popen(
            command(directory, arguments),
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(variables),
            bufsize=1 << 16,
        )
    except FileNotFoundError:
        raise no_git() from None
    assert running.stdout is not None
    return running, running.stdout


def end(running: subprocess.Popen[bytes]) -> None:
    """Kill a git process that only reads, and close its pipes.

    Closing its input is not enough: a forked worker may hold the end too.
    """
    running.kill()
    for stream in (running.stdin, running.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # input buffered for an exited git
                stream.close()
    running.wait()


@contextmanager
def piped(
    words: Sequence[str | bytes], environment: Mapping[str, str], failure: Exception
) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Start a git command line, yield its stdin and stdout, and wait for it; raise `failure` if it fails."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        # A broken pipe means that git exited; it has printed the reason.
        with suppress(BrokenPipeError):
            yield running.stdin, running.stdout
        with suppress(BrokenPipeError):
            running.stdin.close()
    if running.returncode:
        raise failure


@contextmanager
def printing(
    directory: str, arguments: Sequence[str | bytes], variables: Variables | None = None
) -> Iterator[IO[bytes]]:
    """Yield the output of a git command that may be unbounded; git is stopped when the block ends.

    Raises GitFailed if git fails before that, and CtxError if git is not installed.
    """
    running, stdout = start(directory, arguments, variables)
    try:
        yield stdout
        if running.wait():
            raise GitFailed(f"git {os.fsdecode(arguments[0])} failed")
    finally:
        end(running)


def records(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the records of git's `-z` output; a last one without its null byte too."""
    rest = b""
    while data := stream.read(_READ_AT_ONCE):
        *whole, rest = (rest + data).split(b"\0")
        yield from whole
    if rest:
        yield rest


def error_message(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return git's message on standard error, without its leading `fatal: `."""
    message = os.fsdecode(done.stderr).strip()
    return message.removeprefix("fatal: ") or f"git ended with status {done.returncode} and said nothing"


def no_git() -> CtxError:
    """Return the error for a PATH without git."""
    return CtxError("git was not found on the PATH; install it, or add its directory to PATH")
