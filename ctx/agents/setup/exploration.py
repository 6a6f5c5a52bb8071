"""State of an agent's session for its hooks: broad text searches since its last git-ctx search or prompt.

Stored in the runtime directory for a day, one small file per session. If it cannot be stored, the hooks print
nothing. No path, pattern or prompt is stored.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import tempfile
import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from ctx.agents.setup import config_files
from ctx.agents.setup.jsonc import Unreadable
from ctx.agents.setup.pieces import SERVER

SEARCHED, BROAD, OTHER = "searched", "broad", "other"
"""A search by git-ctx, a text search for an inexact pattern, and everything else."""

PATIENCE = 3
"""Number of broad searches before the hook prints its hint."""

_DIRECTORY = "git-ctx-agents"
_KEPT = 86400.0
_OURS = re.compile(r"\bgit[ -]ctx\s+(?:-C\s+\S+\s+)?(?:search|related|history)\b")
_GREPS = ("grep", "egrep", "rg", "ag", "ack")
_BROAD = re.compile(r"\s|\||\*|\+|\?|\[|\(")


class Exploration(NamedTuple):
    """State of a session."""

    suggested: bool = False
    broad: int = 0
    nudged: bool = False
    searched: bool = False


def after_prompt(state: Exploration) -> tuple[Exploration, bool]:
    """Return the state after a prompt of the user, and True if a hint is due: once per session."""
    return Exploration(suggested=True), not state.suggested


def after_tool(state: Exploration, tool: str, arguments: dict[str, Any]) -> tuple[Exploration, bool]:
    """Return the state after a tool call, and True if a hint is due: once per exploration."""
    kind = classify(tool, arguments)
    if kind == SEARCHED:
        return state._replace(broad=0, nudged=False, searched=True), False
    if kind == OTHER or state.nudged or state.searched:
        return state, False
    broad = state.broad + 1
    return state._replace(broad=broad, nudged=broad >= PATIENCE), broad >= PATIENCE


def classify(tool: str, arguments: dict[str, Any]) -> str:
    """Return the kind of search that a tool call is: SEARCHED, BROAD or OTHER."""
    if SERVER in tool:
        return SEARCHED
    command, pattern = arguments.get("command"), arguments.get("pattern")
    if isinstance(command, list):
        command = shlex.join(map(str, command))
    if isinstance(command, str):
        return _classify_command(command)
    if isinstance(pattern, str):
        # A glob is broad if the file name itself has a wildcard.
        text = pattern.rsplit("/", 1)[-1] if "glob" in tool.lower() else pattern
        return BROAD if _BROAD.search(text) else OTHER
    return OTHER


def _classify_command(command: str) -> str:
    if _OURS.search(command):
        return SEARCHED
    try:
        words = shlex.split(command)
    except ValueError:
        return OTHER
    if words[:2] == ["git", "grep"]:
        words = words[1:]
    if not words:
        return OTHER
    program, rest = os.path.basename(words[0]), words[1:]
    if program in _GREPS:
        pattern = next((word for word in rest if not word.startswith("-")), "")
        return BROAD if _BROAD.search(pattern) else OTHER
    if program == "find":
        names = [
            rest[place + 1] for place, word in enumerate(rest[:-1]) if word in ("-name", "-iname", "-path")
        ]
        return BROAD if not names or any("*" in name for name in names) else OTHER
    return BROAD if program == "tree" or (program == "ls" and _is_recursive(rest)) else OTHER


def _is_recursive(words: Sequence[str]) -> bool:
    return any(word == "--recursive" or (word[:1] == "-" != word[1:2] and "R" in word) for word in words)


def load(agent: str, session: str) -> Exploration | None:
    """Return the state of a session, a new one if none is stored; None if there is no runtime directory."""
    directory = runtime_directory()
    if directory is None:
        return None
    try:
        found = json.loads(config_files.read(_file(directory, agent, session)) or b"{}")
        state = Exploration(**found)
        return state if all(isinstance(value, (bool, int)) for value in state) else Exploration()
    except (Unreadable, ValueError, TypeError):
        return Exploration()


def keep(agent: str, session: str, state: Exploration) -> bool:
    """Store the state of a session and remove those older than a day. Return True if it was stored."""
    directory = runtime_directory()
    if directory is None:
        return False
    try:
        config_files.write(_file(directory, agent, session), json.dumps(state._asdict()).encode())
        for entry in os.scandir(directory):
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _KEPT:
                os.unlink(entry.path)
    except OSError:
        return False
    return True


def runtime_directory() -> str | None:
    """Return this user's private runtime directory, created if needed; None if it cannot be private."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.path.isabs(base) and os.path.isdir(base):
        directory = os.path.join(base, _DIRECTORY)
    else:
        directory = os.path.join(tempfile.gettempdir(), f"{_DIRECTORY}-{os.getuid()}")
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        status = os.lstat(directory)
    except OSError:
        return None
    own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077
    return directory if own else None


def _file(directory: str, agent: str, session: str) -> str:
    name = blake2b(f"{agent}\0{session}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return os.path.join(directory, name)
