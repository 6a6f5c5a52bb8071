"""Settings in the repository's configuration: `ctx.program`, and hooks if git supports them there.

Only the file shared by all work trees is written, by git itself.
"""

from __future__ import annotations

import os
import re
import shutil
import sys

from ctx.errors import CtxError, GitFailed
from ctx.git.repository import Repository
from ctx.git.settings import Settings
from ctx.maintenance.hooks import shims

CONFIG_HOOKS = (2, 54)
"""First git version that runs hooks from its configuration in addition to the hook directory."""

PROGRAM = "ctx.program"
SECTION = "hook.ctx"


def git_version(repository: Repository) -> tuple[int, int]:
    """Return major and minor version of the git on the PATH."""
    output = repository.git("version")
    found = re.match(rb"git version (\d+)\.(\d+)", output)
    if found is None:
        raise GitFailed(f"`git version` printed {output!r}, which contains no version")
    return int(found[1]), int(found[2])


def program() -> str:
    """Return the absolute path of the `git-ctx` for hooks. Raises CtxError if it is not found."""
    # Python made this path absolute before -C applied. Links are kept, since they survive upgrades.
    main = getattr(sys.modules["__main__"], "__file__", None) or ""
    beside = os.path.join(os.path.dirname(sys.executable), "git-ctx")
    for path in (main, beside, shutil.which("git-ctx") or ""):
        if os.path.basename(path) == "git-ctx" and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise CtxError(
        "hooks need the program `git-ctx`, which was not found: put its directory on the PATH and run the "
        "command again"
    )


def settings(repository: Repository) -> Settings:
    """Return the settings of the repository's own file."""
    return Settings.parse(repository.git("config", "--local", "--null", "--list"))


def is_registered(found: Settings) -> bool:
    """Return True if all hooks are configured as this version writes them."""
    events = found.get_all(f"{SECTION}.event")
    return _command_in(found) and sorted(events) == sorted(shims.EVENTS)


def has_section(found: Settings) -> bool:
    """Return True if git-ctx hook settings are present in the config."""
    return bool(found.get_all(f"{SECTION}.event") or found.get_all(f"{SECTION}.command"))


def register(repository: Repository) -> None:
    """Write the hooks into the configuration. Raises GitFailed."""
    found = settings(repository)
    if not _command_in(found):
        _write(repository, "--replace-all", f"{SECTION}.command", shims.block())
    if not is_registered(settings(repository)):
        if found.get_all(f"{SECTION}.event"):
            _write(repository, "--unset-all", f"{SECTION}.event")
        for event in shims.EVENTS:
            _write(repository, "--add", f"{SECTION}.event", event)


def unregister(repository: Repository) -> None:
    """Remove the hooks from the configuration. Raises GitFailed."""
    if has_section(settings(repository)):
        _write(repository, "--remove-section", SECTION)


def set_program(repository: Repository, path: str) -> None:
    """Write the path of the program. Raises GitFailed."""
    if settings(repository).get_all(PROGRAM) != [path]:
        _write(repository, "--replace-all", PROGRAM, path)


def unset_program(repository: Repository) -> None:
    """Remove the path of the program. Raises GitFailed."""
    if settings(repository).get_all(PROGRAM):
        _write(repository, "--unset-all", PROGRAM)


def _command_in(found: Settings) -> bool:
    return found.get_all(f"{SECTION}.command") == [shims.block().decode()]


def _write(repository: Repository, *arguments: str | bytes) -> None:
    repository.git("config", "--local", *arguments)
