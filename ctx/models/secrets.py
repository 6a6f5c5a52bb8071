"""Keys of services, through git's own credential helpers or an environment variable.

A key is never written by git-ctx, and never stands in a setting, an argument of a process, a message or a
log.
"""

from __future__ import annotations

import os
import subprocess
from urllib.parse import urlsplit

from ctx.errors import CtxError
from ctx.git import process

VARIABLE = "GIT_CTX_API_KEY"
"""The environment variable that holds a key, for machines without a credential helper."""
_USER = "git-ctx"


def key_for(directory: str, url: str) -> str | None:
    """The key for an address, None where there is none; nobody is asked."""
    found = os.environ.get(VARIABLE)
    if found:
        return found
    done = _credential(directory, "fill", url)
    if done.returncode:
        return None
    for line in done.stdout.splitlines():
        name, _, value = line.partition(b"=")
        if name == b"password":
            return value.decode("utf-8", "replace") or None
    return None


def remember(directory: str, url: str, key: str) -> None:
    """Hand a key to the credential helpers. Raises CtxError where there are none that could keep it."""
    helpers = process.run(directory, ["config", "--get-urlmatch", "credential.helper", url])
    if helpers.returncode or not helpers.stdout.strip():
        raise CtxError(
            "git has no credential helper that could keep the key: set one (`git config --global "
            f"credential.helper …`, see gitcredentials(7)), or give the key in {VARIABLE}"
        )
    if _credential(directory, "approve", url, key).returncode:
        raise CtxError("git's credential helper did not take the key")


def forget(directory: str, url: str) -> None:
    """Have the credential helpers forget the key for an address."""
    _credential(directory, "reject", url)


def _credential(
    directory: str, action: str, url: str, key: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    parts = urlsplit(url)
    lines = [f"protocol={parts.scheme}", f"host={parts.netloc}", f"username={_USER}"]
    if key is not None:
        lines.append(f"password={key}")
    # git asks on the terminal or in a window where no helper knows: a search must never do that.
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
    text = "\n".join(lines) + "\n\n"
    return process.run(
        directory, ["-c", "core.askPass=", "credential", action], stdin=text.encode(), variables=quiet
    )
