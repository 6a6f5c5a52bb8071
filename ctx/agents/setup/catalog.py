"""The agents: what each is called, how it is found on a machine, and which file holds what.

All of it is data, in the `agent.json` of each agent's folder; docs/agents.md says where it was read.
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
"""In the order in which they are set up: an agent that reads the first of several files of instructions comes
after those that make one."""

_HOMES = {"CLAUDE_CONFIG_DIR": "~/.claude", "CODEX_HOME": "~/.codex"}
"""Variables by which users move the directory of an agent, and where it is without them."""


class Agent(NamedTuple):
    """One agent. `places` has for each scope the paths by what they hold; see any agent.json."""

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
    """An agent by its name."""
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
    """The agents that are installed for this user or used in the project at `root`."""
    return [name for name in NAMES if _is_there(agent(name), root)]


def _is_there(one: Agent, root: str) -> bool:
    return (
        any(map(shutil.which, one.programs))
        or any(os.path.isdir(path_of(mark, USER, root)) for mark in one.marks[USER])
        or any(os.path.exists(path_of(mark, PROJECT, root)) for mark in one.marks[PROJECT])
    )


def path_of(place: str, scope: str, root: str) -> str:
    """The path of a place: below the project's root, or in the user's home and what variables name."""
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
    """The first file that is there or will be, else the one to make: `new`, by platform, or the first."""
    paths = [path_of(place, scope, root) for place in places]
    for path in paths:
        if path in planned or os.path.lexists(path):
            return path
    if isinstance(new, dict):
        new = new["darwin" if sys.platform == "darwin" else "linux"]
    return path_of(new, scope, root) if new else paths[0]
