"""Who may talk to a server over HTTP: a token for each start, and the file in which the user finds it.

A token is never an argument of a process and never printed: others can read those.
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
"""Holds the token where the user chooses it."""
_FEWEST = 16
"""Characters that a chosen token has at least."""


def chosen_token() -> str | None:
    """The token in the environment, which is taken out of it: no child needs it. Raises UsageError."""
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
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


@contextmanager
def written(url: str, token: str) -> Iterator[str]:
    """A file with address and token that only this user can read, there while the server is; its path."""
    folder = _folder()
    path = os.path.join(folder, f"mcp-{os.getpid()}.json")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _sweep(folder)
        # What lies there is of a process that had this number before; what it is a link to stays.
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
    """Where this user's files for running programs lie (XDG Base Directory Specification)."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isabs(base) and os.path.isdir(base):
        return os.path.join(base, "git-ctx")
    return os.path.join(state_directory(), "run")


def _sweep(folder: str) -> None:
    """Remove the files of servers that were killed: a lock ends with its holder."""
    for entry in os.scandir(folder):
        if not entry.name.startswith("mcp-") or not entry.is_file(follow_symlinks=False):
            continue
        with suppress(OSError), open(entry.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(entry.path)
