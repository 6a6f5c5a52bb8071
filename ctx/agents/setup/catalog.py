"""Catalog of agents: names, signs of their presence on a machine, and paths of their files.

The data is in agents.json; docs/agents.md names its sources.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import Any, NamedTuple

FOLDER = os.path.dirname(__file__)
PROJECT, USER = "project", "user"
SCOPES = (PROJECT, USER)

_HOMES = {"CLAUDE_CONFIG_DIR": "~/.claude", "CODEX_HOME": "~/.codex"}
"""Environment variables that set the directory of an agent, and the default directories."""


class Agent(NamedTuple):
    """One agent. `programs` and `marks` (paths by scope) are signs of its presence.

    `places` maps each scope to paths by kind of content. A list has alternatives, of which the agent reads
    the first that exists; set-up creates `new_<kind>`, by default the first. `base` is a member that a file
    with hooks needs. Strings have blanks such as `{{program}}`.
    """

    name: str
    title: str
    programs: list[str]
    marks: dict[str, list[str]]
    places: dict[str, dict[str, Any]]
    server: dict[str, Any] | None = None
    explorer: dict[str, str] | None = None
    base: dict[str, Any] | None = None
    hooks: tuple[dict[str, Any], ...] = ()


with open(os.path.join(FOLDER, "agents.json"), encoding="utf-8") as _file:
    AGENTS = {name: Agent(name, **data) for name, data in json.load(_file).items()}
"""Agents by name, in set-up order: one that reads the first of several files of instructions comes after
those that create one."""


def detected(root: str) -> list[str]:
    """Return the names of agents installed for this user or used in the project at `root`."""
    return [name for name, one in AGENTS.items() if _is_there(one, root)]


def _is_there(one: Agent, root: str) -> bool:
    return (
        any(map(shutil.which, one.programs))
        or any(os.path.isdir(path_of(mark, USER, root)) for mark in one.marks[USER])
        or any(os.path.exists(path_of(mark, PROJECT, root)) for mark in one.marks[PROJECT])
    )


def path_of(place: str, scope: str, root: str) -> str:
    """Return the path of a place: below the project's root, or in the user's home or configured directory."""
    if scope == PROJECT:
        return os.path.join(root, place)
    head, _, rest = place.partition("/")
    if head.startswith("$"):
        base = os.environ.get(head[1:]) or os.path.expanduser(_HOMES[head[1:]])
        return os.path.join(os.path.abspath(base), rest)
    config = os.environ.get("XDG_CONFIG_HOME")
    if place.startswith("~/.config/") and config and os.path.isabs(config):
        return os.path.join(config, place.removeprefix("~/.config/"))
    return os.path.expanduser(place)


def first_of(places: list[str], new: Any, scope: str, root: str, planned: set[str]) -> str:
    """Return the first path that exists or is planned, else the one to create: `new`, or the first."""
    paths = [path_of(place, scope, root) for place in places]
    for path in paths:
        if path in planned or os.path.lexists(path):
            return path
    if isinstance(new, dict):
        new = new["darwin" if sys.platform == "darwin" else "linux"]
    return path_of(new, scope, root) if new else paths[0]
