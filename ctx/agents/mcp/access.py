"""Access control of the HTTP server: a token per start, and the file that hands it to the user.

The token is never passed as a process argument and never printed, because other users can read those.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ctx.errors import CtxError, UsageError
from ctx.models.ledger import state_directory

VARIABLE = "GIT_CTX_MCP_TOKEN"
"""Environment variable with a token chosen by the user."""
_FEWEST = 16
"""Minimum length of a chosen token in characters."""


def chosen_token() -> str | None:
    """Return the token from the environment, removed there so children do not get it. Raises UsageError."""
    token = os.environ.pop(VARIABLE, None)
    if token is None:
        return None
    if len(token) < _FEWEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"{VARIABLE} has to be at least {_FEWEST} printable ASCII characters without spaces: "
            f"`export {VARIABLE}=$(openssl rand -hex 32)` makes one, without the variable there is a new one "
            "at each start"
        )
    return token


def new_token() -> str:
    """Return a random token from the system's secure generator."""
    return secrets.token_urlsafe(32)


@contextmanager
def written(url: str, token: str) -> Iterator[str]:
    """Yield the path of a file with address and token, readable only by this user; remove it at the end."""
    folder = _folder()
    path = os.path.join(folder, f"mcp-{os.getpid()}.json")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _sweep(folder)
        # A leftover of an earlier process with this pid; unlinking a symbolic link keeps its target.
        with suppress(FileNotFoundError):
            os.unlink(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CtxError(
            f"the token cannot be kept in '{folder}' ({error.strerror}): choose one, "
            f"`export {VARIABLE}=$(openssl rand -hex 32)`"
        ) from None
    with open(descriptor, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        json.dump({"url": url, "token": token, "pid": os.getpid()}, file)
        file.write("\n")
        file.flush()
        try:
            yield path
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _folder() -> str:
    """Return the directory of this user's runtime files (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isabs(base) and os.path.isdir(base):
        return os.path.join(base, "git-ctx")
    return os.path.join(state_directory(), "run")


def _sweep(folder: str) -> None:
    """Remove the files of servers that were killed, which no process has locked any more."""
    for entry in os.scandir(folder):
        if not entry.name.startswith("mcp-") or not entry.is_file(follow_symlinks=False):
            continue
        with suppress(OSError), open(entry.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(entry.path)
