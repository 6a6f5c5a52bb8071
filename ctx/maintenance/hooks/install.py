"""Installation of the hooks, and a removal that restores the other hooks byte for byte."""

from __future__ import annotations

import os
from typing import NamedTuple

from ctx.errors import CtxError
from ctx.git.repository import Repository
from ctx.maintenance.hooks import registration, shims
from ctx.maintenance.hooks.owners import by_hand, hook_directory, owner_of_directory, owner_of_hook
from ctx.storage.regular_files import atomic_write

CONFIG, FILES = "config", "files"
"""Installation methods: in git's configuration, or as files in the hook directory."""

INSTALL, INSERT, UPGRADE, KEEP, LEAVE, REMOVE = "install", "insert", "upgrade", "keep", "leave", "remove"
"""Actions: create a hook, insert into an existing one, upgrade, keep, leave a foreign one, remove."""


class HookStep(NamedTuple):
    """Action for one hook. `content` of None removes the file; `reason` and `advice` belong to LEAVE."""

    event: str
    path: str
    action: str
    content: bytes | None = None
    reason: str = ""
    advice: str = ""


class InstallPlan(NamedTuple):
    """Plan of an installation. `method` is CONFIG or FILES; `cleaning` removes hooks of the other method."""

    method: str
    program: str
    steps: list[HookStep]
    cleaning: list[HookStep]


class RemovalPlan(NamedTuple):
    """Plan of a removal. `methods` are those by which something is installed."""

    methods: list[str]
    steps: list[HookStep]


def plan_installation(repository: Repository, *, force: bool) -> InstallPlan:
    """Return the plan of an installation; change nothing. Raises CtxError if git-ctx is not a program."""
    program = registration.program()
    found = registration.settings(repository)
    if registration.git_version(repository) >= registration.CONFIG_HOOKS:
        config = os.path.join(repository.common_dir, "config")
        action = INSTALL
        if registration.has_section(found):
            action = KEEP if registration.is_registered(found) else UPGRADE
        steps = [HookStep(event, config, action) for event in shims.EVENTS]
        return InstallPlan(CONFIG, program, steps, _removals(repository))
    directory = hook_directory(repository)
    steps = [_installing(repository, directory, event, force) for event in shims.EVENTS]
    return InstallPlan(FILES, program, steps, [])


def install(repository: Repository, plan: InstallPlan) -> None:
    """Apply a plan: all hooks or none. Raises CtxError."""
    _carry_out(plan.cleaning if plan.method == CONFIG else plan.steps)
    registration.set_program(repository, plan.program)
    if plan.method == CONFIG:
        registration.register(repository)
    else:
        registration.unregister(repository)


def plan_removal(repository: Repository) -> RemovalPlan:
    """Return the plan of a removal; change nothing."""
    steps = _removals(repository)
    found = {CONFIG: registration.has_section(registration.settings(repository))}
    found[FILES] = any(step.action == REMOVE for step in steps)
    return RemovalPlan([method for method, there in found.items() if there], steps)


def remove(repository: Repository, removal: RemovalPlan) -> None:
    """Remove hooks and settings. Raises CtxError."""
    _carry_out(removal.steps)
    registration.unregister(repository)
    registration.unset_program(repository)


def _removals(repository: Repository) -> list[HookStep]:
    """Return the removals in git's current hook directory and in the repository's own."""
    own = os.path.join(repository.common_dir, "hooks")
    folders = dict.fromkeys(map(os.path.realpath, (hook_directory(repository), own)))
    hooks = [(os.path.join(folder, event), event) for folder in folders for event in shims.EVENTS]
    return [step for path, event in hooks if (step := _removing(path, event)) is not None]


def _installing(repository: Repository, directory: str, event: str, force: bool) -> HookStep:
    path = os.path.join(directory, event)
    owner = owner_of_directory(repository, directory, event)
    hook = _read(path)
    if owner is None and hook is not None and not (shims.has_block(hook) and not os.path.islink(path)):
        owner = owner_of_hook(path, hook, event)
    if owner is not None and not force:
        return HookStep(event, path, LEAVE, reason=owner.reason, advice=owner.advice)
    if hook is None:
        return HookStep(event, path, INSTALL, shims.shim(event))
    obstacle = shims.obstacle(hook)
    if obstacle is None and not os.access(path, os.X_OK):
        obstacle = "it is not executable, so git does not run it"
    if obstacle:
        return HookStep(event, path, LEAVE, reason=f"{path}: {obstacle}", advice=by_hand(path))
    new = shims.shim(event) if shims.is_ours(hook) else shims.with_block(hook)
    if new == hook:
        return HookStep(event, path, KEEP)
    return HookStep(event, path, UPGRADE if shims.has_block(hook) else INSERT, new)


def _removing(path: str, event: str) -> HookStep | None:
    hook = _read(path)
    if hook is None:
        return None
    if shims.is_ours(hook):
        return HookStep(event, path, REMOVE)
    if shims.is_torn(hook):
        reason = f"{path}: its git-ctx marks were edited"
        return HookStep(event, path, LEAVE, reason=reason, advice="remove what is between them by hand")
    return HookStep(event, path, REMOVE, shims.without_block(hook)) if shims.has_block(hook) else None


def _read(path: str) -> bytes | None:
    """Return the content of a hook, or None if it does not exist. Raises CtxError."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(path, error) from error


def _carry_out(steps: list[HookStep]) -> None:
    """Write and remove files; undo everything at the first failure."""
    done: list[tuple[str, bytes | None, int | None]] = []
    for step in steps:
        if step.action in (KEEP, LEAVE):
            continue
        before, mode = _read(step.path), None
        try:
            if before is None:
                os.makedirs(os.path.dirname(step.path), exist_ok=True)
            else:
                mode = os.stat(step.path).st_mode
            _put(step.path, step.content, mode)
        except OSError as error:
            for path, content, old_mode in reversed(done):
                _put(path, content, old_mode)
            raise _refused(step.path, error) from error
        done.append((step.path, before, mode))


def _put(path: str, content: bytes | None, mode: int | None) -> None:
    """Replace a file atomically, since a shell reads a script while running it; None removes it.

    A `mode` of None is that of a new program under the user's umask.
    """
    if content is None:
        os.unlink(path)
        return
    with atomic_write(os.path.realpath(path), mode=0o777) as file:
        file.write(content)
        if mode is not None:
            os.fchmod(file.fileno(), mode & 0o7777)


def _refused(path: str, error: OSError) -> CtxError:
    return CtxError(
        f"the hook {path} cannot be changed ({error.strerror or error}); nothing was changed: "
        "fix its permissions, then run the command again"
    )
