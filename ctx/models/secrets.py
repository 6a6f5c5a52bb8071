"""API keys of services, from git's credential helpers or environment variables.

git-ctx never stores a key, and never puts one in a setting, an argument of a process, a message or a log. A
key is bound to an origin (protocol, host, port): that of the setting of its variable, or that of the
credential.
"""

from __future__ import annotations

import os
import subprocess
from urllib.parse import urlsplit

from ctx.errors import CtxError
from ctx.git import process
from ctx.git.repository import Repository
from ctx.models.addresses import origin

VARIABLE = "GIT_CTX_API_KEY"
"""Environment variable with the key for the origin of `ctx.embedder.url`."""
_OF_SERVICES = {"reranker": "GIT_CTX_RERANKER_API_KEY", "expander": "GIT_CTX_EXPANDER_API_KEY"}
"""Environment variables with the keys for the origins of `ctx.reranker.url` and `ctx.expander.url`."""
_USER = "git-ctx"


def variable_for(purpose: str) -> str:
    """Return the name of the variable with the key of a service of this purpose."""
    return _OF_SERVICES.get(purpose, VARIABLE)


def key_for(repository: Repository, purpose: str, url: str) -> str | None:
    """Return the key for an address, None if there is none; never prompts the user.

    Raises CtxError for a key that cannot be sent.
    """
    pairs = [(_OF_SERVICES[purpose], f"ctx.{purpose}.url")] if purpose in _OF_SERVICES else []
    for variable, setting in (*pairs, (VARIABLE, "ctx.embedder.url")):
        key = os.environ.get(variable, "").strip()
        configured = repository.settings.get(setting)
        if key and configured and origin(configured) == origin(url):
            return _sendable(key, variable)
    done = _credential(repository, "fill", url)
    if done.returncode:
        return None
    for line in done.stdout.splitlines():
        name, _, value = line.partition(b"=")
        if name == b"password":
            return _sendable(value.decode("utf-8", "replace").strip(), "git's credential helper") or None
    return None


def _sendable(key: str, source: str) -> str:
    # The HTTP library would show an invalid key in its error.
    if not key.isascii() or not key.isprintable():
        raise CtxError(f"the key from {source} has characters that are not allowed in an HTTP header")
    return key


def remember(repository: Repository, url: str, key: str) -> None:
    """Store a key with the credential helpers. Raises CtxError if there are none, or they refuse it."""
    helpers = repository.run("config", "--get-urlmatch", "credential.helper", url)
    if helpers.returncode or not helpers.stdout.strip():
        raise CtxError(
            "git has no credential helper to store the key: set one (`git config --global "
            f"credential.helper …`, see gitcredentials(7)), or set the key in {VARIABLE}"
        )
    if _credential(repository, "approve", url, key).returncode:
        raise CtxError("git's credential helper did not accept the key")


def forget(repository: Repository, url: str) -> None:
    """Erase the key for an address from the credential helpers."""
    _credential(repository, "reject", url)


def _credential(
    repository: Repository, action: str, url: str, key: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    parts = urlsplit(url)
    lines = [f"protocol={parts.scheme}", f"host={parts.netloc}", f"username={_USER}"]
    if key is not None:
        lines.append(f"password={key}")
    # git would prompt for an unknown key: a search must never do that.
    quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": ""}
    text = "\n".join(lines) + "\n\n"
    command = ["-c", "core.askPass=", "credential", action]
    return process.run(repository.location.directory, command, text.encode(), quiet)
