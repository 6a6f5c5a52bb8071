"""What set-up shall write: the components, and which file of an agent gets which piece for each of them.

Nothing is read or written here but to see which of several files an agent uses.
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
"""HOOKS are those that speak to the agent: at a prompt, and after several broad searches by text."""

COMPONENTS = (INSTRUCTIONS, SKILLS, SUBAGENTS, MCP, SESSION_HOOKS, HOOKS, RULES)
DEFAULT = frozenset(COMPONENTS) - {HOOKS}


class Wish(NamedTuple):
    """What the user asked for. `root` is the top of the work tree, `program` the path of git-ctx."""

    scope: str
    root: str
    agents: Sequence[str]
    components: frozenset[str]
    program: str
    strong: bool = False
    minimal: bool = False
    have: Mapping[str, frozenset[str]] = MappingProxyType({})
    """What agents have been given before: texts speak of that too."""


class Wanted(NamedTuple):
    """One piece for one agent, and the file it goes into; a block of instructions has no text yet."""

    path: str
    agent: str
    piece: Piece


def wanted(wish: Wish) -> list[Wanted]:
    """All pieces of a wish, in the order in which they are put in."""
    found: list[Wanted] = []
    planned: set[str] = set()
    for name in catalog.NAMES:
        if name in wish.agents:
            one = catalog.agent(name)
            for place, piece in _pieces(one, wish, planned):
                planned.add(place)
                found.append(Wanted(place, name, piece))
    return found


def wording(wish: Wish, one: Agent) -> texts.Wording:
    """What the texts for an agent depend on."""
    asked = wish.components if one.name in wish.agents else frozenset()
    chosen = asked | wish.have.get(one.name, frozenset())
    places = one.places[wish.scope]
    return texts.Wording(
        server=MCP in chosen and "mcp" in places,
        minimal=wish.minimal,
        subagent=SUBAGENTS in chosen and "subagent" in places,
        strong=wish.strong,
    )


def lacking(wish: Wish) -> Iterator[tuple[str, str]]:
    """Each agent with a component that was asked for and that it has no place for in this scope."""
    for name in wish.agents:
        places = catalog.agent(name).places[wish.scope]
        for component, keys in _PLACES.items():
            if component in wish.components and not any(key in places for key in keys):
                yield name, component


_PLACES = {
    INSTRUCTIONS: ("instructions", "rule"),
    SKILLS: ("skills",),
    SUBAGENTS: ("subagent",),
    MCP: ("mcp",),
    SESSION_HOOKS: ("hooks",),
}
"""The places that each component needs; hooks that speak, and rules, are a few agents' own."""


def _pieces(one: Agent, wish: Wish, planned: set[str]) -> Iterator[tuple[str, Piece]]:
    places, chosen = one.places[wish.scope], wish.components

    def path(place: str) -> str:
        return catalog.path_of(place, wish.scope, wish.root)

    def first(key: str) -> str:
        return catalog.first_of(places[key], places.get(f"new_{key}"), wish.scope, wish.root, planned)

    words = wording(wish, one)
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
        yield first("mcp"), _server(one, wish)
    if "hooks" in places:
        yield from ((path(places["hooks"]), piece) for piece in _hooks(one, wish, words))
    if RULES in chosen and "rules" in places:
        text = texts.command_rules(one, os.path.basename(places["rules"]), wish.program)
        yield path(places["rules"]), Piece(FILE, RULES, (), text)


def _server(one: Agent, wish: Wish) -> Piece:
    minimal = ["--minimal"] if wish.minimal else []
    keys = (*one.server["keys"], SERVER)
    if "table" in one.server:
        text = texts.server_table(one, one.server["table"], wish.program, ["mcp", *minimal])
        return Piece(TABLE, MCP, keys, text)
    value = _filled(one.server[wish.scope], program=wish.program, root=wish.root)
    value["command" if isinstance(value["command"], list) else "args"].extend(minimal)
    return Piece(MEMBER, MCP, keys, value)


def _hooks(one: Agent, wish: Wish, words: texts.Wording) -> Iterator[Piece]:
    first = True
    for hook in one.hooks:
        component = SESSION_HOOKS if hook["does"] == "session" else HOOKS
        if component not in wish.components:
            continue
        if first and one.base is not None:
            yield Piece(BASE, SESSION_HOOKS, tuple(one.base["keys"]), one.base["value"])
        first = False
        program = shlex.quote(wish.program)
        # Where the program is gone, or on another machine, a hook does nothing.
        command = f"[ ! -x {program} ] || {program} {HOOK} {one.name} {hook['does']}"
        if component == HOOKS and words.server:
            command += " mcp"
        yield Piece(ITEM, component, tuple(hook["keys"]), _filled(hook["entry"], hook=command))


def _filled(value: Any, **values: str) -> Any:
    """Plain JSON with the blanks in its strings filled."""
    if isinstance(value, str):
        return texts.fill(value, **values) if "{{" in value else value
    if isinstance(value, list):
        return [_filled(item, **values) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, **values) for key, item in value.items()}
    return value


def is_of_project(wish: Wish) -> bool:
    """Whether files of the work tree are written."""
    return wish.scope == PROJECT
