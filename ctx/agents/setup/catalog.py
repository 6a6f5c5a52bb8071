"""Catalog of agents: names, signs of their presence on a machine, and paths of their files.

The data is in the `agent.json` of each agent's folder; docs/agents.md names its sources.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import cache
from typing import Any, NamedTuple

FOLDER = os.path.dirname(__file__)
PROJECT, USER = "project", "user"
SCOPES = (PROJECT, USER)

NAMES = (
    "generic",
    "codex",
    "junie",
    "claude",
    "gemini",
    "opencode",
    "cursor",
    "vscode",
    "windsurf",
    "zed",
)
"""Agents in set-up order: one that reads the first of several files of instructions comes after those that
create one."""

_HOMES = {"CLAUDE_CONFIG_DIR": "~/.claude", "CODEX_HOME": "~/.codex"}
"""Environment variables that set the directory of an agent, and the default directories."""


class Agent(NamedTuple):
    """One agent. `places` maps each scope to paths by kind of content; see any agent.json."""

    name: str
    title: str
    programs: list[str]
    marks: dict[str, list[str]]
    places: dict[str, dict[str, Any]]
    server: dict[str, Any]
    explorer: dict[str, str]
    base: dict[str, Any] | None
    hooks: list[dict[str, Any]]


@cache
def agent(name: str) -> Agent:
    """Return the agent with this name."""
    with open(os.path.join(FOLDER, name, "agent.json"), encoding="utf-8") as file:
        found = json.load(file)
    return Agent(
        name,
        found["title"],
        found["programs"],
        found["marks"],
        {scope: found[scope] for scope in SCOPES},
        found["server"],
        found.get("explorer", {}),
        found.get("with_hooks"),
        found["hooks"],
    )


def detected(root: str) -> list[str]:
    """Return the names of agents installed for this user or used in the project at `root`."""
    return [name for name in NAMES if _is_there(agent(name), root)]


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
