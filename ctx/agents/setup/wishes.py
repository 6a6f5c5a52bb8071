"""Requests for set-up: the components, and the pieces and files of each agent that they lead to.

Reads and writes no files; only checks which of several files exist.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ctx.agents.setup import catalog, texts
from ctx.agents.setup.catalog import PROJECT, Agent
from ctx.agents.setup.pieces import BASE, BLOCK, FILE, HOOK, ITEM, MEMBER, SERVER, TABLE, Piece

INSTRUCTIONS, SKILLS, SUBAGENTS, MCP = "instructions", "skills", "subagents", "mcp"
SESSION_HOOKS, HOOKS, RULES = "session-hooks", "hooks", "rules"
"""HOOKS are those that speak to the agent: at a prompt, and after several broad text searches."""

COMPONENTS = (INSTRUCTIONS, SKILLS, SUBAGENTS, MCP, SESSION_HOOKS, HOOKS, RULES)
DEFAULT = frozenset(COMPONENTS) - {HOOKS}


class Request(NamedTuple):
    """Request of the user. `root` is the top of the work tree.

    `program` starts git-ctx: its name in files of a project, which may be committed, otherwise its path.
    """

    scope: str
    root: str
    agents: Sequence[str]
    components: frozenset[str]
    program: str
    strong: bool = False
    minimal: bool = False
    have: Mapping[str, frozenset[str]] = MappingProxyType({})
    """Components that agents already have; texts mention these too."""


class Wanted(NamedTuple):
    """One piece for one agent, and its file. The text of an instruction block is filled in later."""

    path: str
    agent: str
    piece: Piece


def wanted(request: Request) -> list[Wanted]:
    """Return all pieces of a request, in the order of insertion."""
    found: list[Wanted] = []
    planned: set[str] = set()
    for name in catalog.NAMES:
        if name in request.agents:
            one = catalog.agent(name)
            for place, piece in _pieces(one, request, planned):
                planned.add(place)
                found.append(Wanted(place, name, piece))
    return found


def wording(request: Request, one: Agent) -> texts.Wording:
    """Return the parameters of the texts for an agent."""
    asked = request.components if one.name in request.agents else frozenset()
    chosen = asked | request.have.get(one.name, frozenset())
    places = one.places[request.scope]
    return texts.Wording(
        server=MCP in chosen and "mcp" in places,
        minimal=request.minimal,
        subagent=SUBAGENTS in chosen and "subagent" in places,
        strong=request.strong,
    )


def lacking(request: Request) -> Iterator[tuple[str, str]]:
    """Yield each agent with a requested component that it does not support in this scope."""
    for name in request.agents:
        places = catalog.agent(name).places[request.scope]
        for component, keys in _PLACES.items():
            if component in request.components and not any(key in places for key in keys):
                yield name, component


_PLACES = {
    INSTRUCTIONS: ("instructions", "rule"),
    SKILLS: ("skills",),
    SUBAGENTS: ("subagent",),
    MCP: ("mcp",),
    SESSION_HOOKS: ("hooks",),
}
"""Places of which each component needs one. HOOKS and RULES are left out: only a few agents support them."""


def _pieces(one: Agent, request: Request, planned: set[str]) -> Iterator[tuple[str, Piece]]:
    places, chosen = one.places[request.scope], request.components

    def path(place: str) -> str:
        return catalog.path_of(place, request.scope, request.root)

    def first(key: str) -> str:
        return catalog.first_of(places[key], places.get(f"new_{key}"), request.scope, request.root, planned)

    words = wording(request, one)
    if INSTRUCTIONS in chosen and "instructions" in places:
        yield first("instructions"), Piece(BLOCK, INSTRUCTIONS, (), None)
    if INSTRUCTIONS in chosen and "rule" in places:
        name = f"rule{os.path.splitext(places['rule'])[1]}"
        yield path(places["rule"]), Piece(FILE, INSTRUCTIONS, (), texts.rule(one, name, words))
    if SKILLS in chosen and "skills" in places:
        for skill, text in texts.skills().items():
            yield path(f"{places['skills']}/{skill}/SKILL.md"), Piece(FILE, SKILLS, (), text)
    if SUBAGENTS in chosen and "subagent" in places:
        yield path(places["subagent"]), Piece(FILE, SUBAGENTS, (), texts.explorer(one, words))
    if MCP in chosen and "mcp" in places:
        yield first("mcp"), _server(one, request)
    if "hooks" in places:
        yield from ((path(places["hooks"]), piece) for piece in _hooks(one, request, words))
    if RULES in chosen and "rules" in places:
        text = texts.command_rules(one, os.path.basename(places["rules"]), request.program)
        yield path(places["rules"]), Piece(FILE, RULES, (), text)


def _server(one: Agent, request: Request) -> Piece:
    minimal = ["--minimal"] if request.minimal else []
    keys = (*one.server["keys"], SERVER)
    if "table" in one.server:
        text = texts.server_table(one, one.server["table"], request.program, ["mcp", *minimal])
        return Piece(TABLE, MCP, keys, text)
    value = _filled(one.server[request.scope], program=request.program, root=request.root)
    value["command" if isinstance(value["command"], list) else "args"].extend(minimal)
    return Piece(MEMBER, MCP, keys, value)


def _hooks(one: Agent, request: Request, words: texts.Wording) -> Iterator[Piece]:
    first = True
    for hook in one.hooks:
        component = SESSION_HOOKS if hook["does"] == "session" else HOOKS
        if component not in request.components:
            continue
        if first and one.base is not None:
            yield Piece(BASE, SESSION_HOOKS, tuple(one.base["keys"]), one.base["value"])
        first = False
        program = shlex.quote(request.program)
        # A hook does nothing if the program is missing.
        command = f"! command -v {program} >/dev/null 2>&1 || {program} {HOOK} {one.name} {hook['does']}"
        if component == HOOKS and words.server:
            command += " mcp"
        yield Piece(ITEM, component, tuple(hook["keys"]), _filled(hook["entry"], hook=command))


def _filled(value: Any, **values: str) -> Any:
    """Return plain JSON with the blanks in its strings filled."""
    if isinstance(value, str):
        return texts.fill(value, **values) if "{{" in value else value
    if isinstance(value, list):
        return [_filled(item, **values) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, **values) for key, item in value.items()}
    return value


def is_of_project(request: Request) -> bool:
    """Return True if the request is for files of the work tree."""
    return request.scope == PROJECT
