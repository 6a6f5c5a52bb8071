"""Options of a set-up: the components, and the pieces and files of each agent that follow from them.

Reads and writes no files; only checks which of several files exist.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ctx.agents.setup import catalog, texts
from ctx.agents.setup.catalog import AGENTS, USER, Agent
from ctx.agents.setup.pieces import BASE, BLOCK, FILE, HOOK, ITEM, MEMBER, SERVER, TABLE, Piece

INSTRUCTIONS, SKILLS, SUBAGENTS, MCP = "instructions", "skills", "subagents", "mcp"
SESSION_HOOKS, HOOKS, RULES = "session-hooks", "hooks", "rules"
"""HOOKS print hints for the agent: at a prompt, and after several broad text searches."""

COMPONENTS = (INSTRUCTIONS, SKILLS, SUBAGENTS, MCP, SESSION_HOOKS, HOOKS, RULES)
DEFAULT = frozenset(COMPONENTS) - {HOOKS}


class SetupOptions(NamedTuple):
    """Options of a set-up. `root` is the top of the work tree, or the user's home.

    `program` starts git-ctx: its name in files of a project, which may be committed, otherwise its path.
    """

    scope: str
    root: str
    agents: Sequence[str]
    components: frozenset[str]
    program: str
    strong: bool = False
    minimal: bool = False
    installed: Mapping[str, frozenset[str]] = MappingProxyType({})
    """Components that agents already have; texts mention these too."""


class Placement(NamedTuple):
    """One piece for one agent, and its file. The text of an instruction block is filled in later."""

    path: str
    agent: str
    piece: Piece


def placements(options: SetupOptions) -> list[Placement]:
    """Return all pieces of a set-up, in the order of insertion."""
    found: list[Placement] = []
    for name, one in AGENTS.items():
        if name in options.agents:
            for path, piece in _pieces(one, options, {placement.path for placement in found}):
                found.append(Placement(path, name, piece))
    return found


def wording(options: SetupOptions, one: Agent) -> texts.Wording:
    """Return the parameters of the texts for an agent."""
    chosen = options.components if one.name in options.agents else frozenset()
    chosen |= options.installed.get(one.name, frozenset())
    places = one.places[options.scope]
    return texts.Wording(
        server=MCP in chosen and "mcp" in places,
        minimal=options.minimal,
        subagent=SUBAGENTS in chosen and "subagent" in places,
        strong=options.strong,
    )


def unsupported(options: SetupOptions) -> Iterator[tuple[str, str]]:
    """Yield each agent with a requested component that it does not support in this scope."""
    for name in options.agents:
        places = AGENTS[name].places[options.scope]
        for component, keys in _PLACES.items():
            if component in options.components and places.keys().isdisjoint(keys):
                yield name, component


_PLACES = {
    INSTRUCTIONS: ("instructions", "rule"),
    SKILLS: ("skills",),
    SUBAGENTS: ("subagent",),
    MCP: ("mcp",),
    SESSION_HOOKS: ("hooks",),
}
"""Places of which each component needs one. HOOKS and RULES are left out: only a few agents support them."""


def _pieces(one: Agent, options: SetupOptions, planned: set[str]) -> Iterator[tuple[str, Piece]]:
    places, chosen = one.places[options.scope], options.components

    def path(place: str) -> str:
        return catalog.path_of(place, options.scope, options.root)

    def first(key: str) -> str:
        return catalog.first_of(places[key], places.get(f"new_{key}"), options.scope, options.root, planned)

    words = wording(options, one)
    if INSTRUCTIONS in chosen and "instructions" in places:
        yield first("instructions"), Piece(BLOCK, INSTRUCTIONS, (), None)
    if INSTRUCTIONS in chosen and "rule" in places:
        template = f"rule{os.path.splitext(places['rule'])[1]}"
        yield path(places["rule"]), Piece(FILE, INSTRUCTIONS, (), texts.rule(one, template, words))
    if SKILLS in chosen and "skills" in places:
        for skill, text in texts.skills().items():
            yield path(f"{places['skills']}/{skill}/SKILL.md"), Piece(FILE, SKILLS, (), text)
    if SUBAGENTS in chosen and one.explorer is not None and "subagent" in places:
        yield path(places["subagent"]), Piece(FILE, SUBAGENTS, (), texts.explorer(one, words))
    if MCP in chosen and one.server is not None and "mcp" in places:
        yield first("mcp"), _server(one, one.server, options)
    if "hooks" in places:
        yield from ((path(places["hooks"]), piece) for piece in _hooks(one, options, words))
    if RULES in chosen and "rules" in places:
        text = texts.command_rules(one, os.path.basename(places["rules"]), options.program)
        yield path(places["rules"]), Piece(FILE, RULES, (), text)


def _server(one: Agent, server: dict[str, Any], options: SetupOptions) -> Piece:
    minimal = ["--minimal"] if options.minimal else []
    keys = (*server["keys"], SERVER)
    if "table" in server:
        text = texts.server_table(one, server["table"], options.program, ["mcp", *minimal])
        return Piece(TABLE, MCP, keys, text)
    entry = server.get("user_entry") if options.scope == USER else None
    value = _filled(entry or server["entry"], program=options.program, root=options.root)
    value["command" if isinstance(value["command"], list) else "args"].extend(minimal)
    return Piece(MEMBER, MCP, keys, value)


def _hooks(one: Agent, options: SetupOptions, words: texts.Wording) -> Iterator[Piece]:
    components = {"session": SESSION_HOOKS, "prompt": HOOKS, "tool": HOOKS}
    chosen = [hook for hook in one.hooks if components[hook["does"]] in options.components]
    if chosen and one.base is not None:
        yield Piece(BASE, SESSION_HOOKS, tuple(one.base["keys"]), one.base["value"])
    program = shlex.quote(options.program)
    for hook in chosen:
        component = components[hook["does"]]
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
