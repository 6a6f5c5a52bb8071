"""What is written into the repository's configuration: `ctx.program`, and hooks where git reads them there.

Only the file that all work trees share is written, by git itself.
"""

from __future__ import annotations

import os
import re
import shutil
import sys

from ctx.errors import CtxError, GitFailed
from ctx.git import process
from ctx.git.repository import Repository
from ctx.git.settings import Settings
from ctx.maintenance.hooks import shims

CONFIG_HOOKS = (2, 54)
"""The first git that runs hooks named in its configuration, beside those in the hook directory."""

PROGRAM = "ctx.program"
SECTION = "hook.ctx"


def git_version(repository: Repository) -> tuple[int, int]:
    """Major and minor version of the git on the PATH."""
    said = repository.git("version")
    found = re.match(rb"git version (\d+)\.(\d+)", said)
    if found is None:
        raise GitFailed(f"`git version` says {said!r}, which names no version")
    return int(found[1]), int(found[2])


def program() -> str:
    """The absolute path of the `git-ctx` that hooks shall start. Raises CtxError if there is none."""
    # Python makes this path absolute at its start, before -C. Links are kept, since they outlive upgrades.
    main = getattr(sys.modules["__main__"], "__file__", None) or ""
    beside = os.path.join(os.path.dirname(sys.executable), "git-ctx")
    for path in (main, beside, shutil.which("git-ctx") or ""):
        if os.path.basename(path) == "git-ctx" and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise CtxError(
        "hooks need `git-ctx` as a program of its own, and there is none; install it, for example with "
        "`pipx install git-ctx`, and run the command again"
    )


def settings(repository: Repository) -> Settings:
    """The settings in the file of the repository alone."""
    return Settings.parse(repository.git("config", "--local", "--null", "--list"))


def is_registered(found: Settings) -> bool:
    """Whether all hooks are in the configuration as this version writes them."""
    events = found.get_all(f"{SECTION}.event")
    return _command_in(found) and sorted(events) == sorted(shims.EVENTS)


def has_section(found: Settings) -> bool:
    """Whether anything of ours about hooks is in the configuration."""
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
    """Take the hooks out of the configuration. Raises GitFailed."""
    if has_section(settings(repository)):
        _write(repository, "--remove-section", SECTION)


def set_program(repository: Repository, path: str) -> None:
    """Write where the program is. Raises GitFailed."""
    if settings(repository).get_all(PROGRAM) != [path]:
        _write(repository, "--replace-all", PROGRAM, path)


def unset_program(repository: Repository) -> None:
    """Forget where the program is. Raises GitFailed."""
    if settings(repository).get_all(PROGRAM):
        _write(repository, "--unset-all", PROGRAM)


def _command_in(found: Settings) -> bool:
    return found.get_all(f"{SECTION}.command") == [shims.block().decode()]


def _write(repository: Repository, *arguments: str | bytes) -> None:
    process.output(repository.place.directory, ["config", "--local", *arguments])
