"""Texts for agents, composed of the data files beside this module and of the list of tools.

Sentences are in the data files, descriptions of tools in ctx.agents.mcp.tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from ctx.agents.mcp.tools import MINIMAL, TOOLS
from ctx.agents.setup.catalog import FOLDER, Agent

SHARED = "all"
READ_ONLY = ("search", "related", "history", "show", "plan", "status")
"""Commands that change nothing but the index; agents may run them without confirmation."""

_BLANK = re.compile(r"\{\{(\w+)\}\}")


class Wording(NamedTuple):
    """Parameters of the texts: presence of server and subagent, and the set of tools."""

    server: bool = False
    minimal: bool = False
    subagent: bool = False
    strong: bool = False

    @property
    def tools(self) -> list[str]:
        """Names of the server's tools that the agent has."""
        return list(MINIMAL if self.minimal else TOOLS)


def template(folder: str, name: str) -> str:
    """Return a data file of an agent, or of those shared by all."""
    with open(os.path.join(FOLDER, folder, *name.split("/")), encoding="utf-8") as file:
        return file.read()


def fill(text: str, **values: str) -> str:
    """Return a template with its blanks filled; each blank needs a value."""
    return _BLANK.sub(lambda found: values[found[1]], text)


def instructions(wording: Wording) -> str:
    """Return the instructions: subagent, then server or command line, then requirements if `strong`."""
    parts = ["start.md"]
    if wording.subagent:
        parts.append("subagent.md")
    parts.append("mcp.md" if wording.server else "command.md")
    if wording.strong:
        parts.append("strong.md")
    titles = {name: TOOLS[name].title for name in wording.tools}
    listed = "\n".join(f"  - `{name}`: {title[0].lower()}{title[1:]}" for name, title in titles.items())
    text = "".join(template(SHARED, f"instructions/{part}") for part in parts)
    return fill(text, tools=listed).rstrip("\n")


def skills() -> dict[str, str]:
    """Return the text of each skill by name."""
    names = sorted(os.listdir(os.path.join(FOLDER, SHARED, "skills")))
    return {name.removesuffix(".md"): template(SHARED, f"skills/{name}") for name in names}


def search_sentence(wording: Wording) -> str:
    """Return the end of a sentence that says how to search."""
    name = "search-with-mcp.md" if wording.server else "search-with-command.md"
    return template(SHARED, name).rstrip("\n")


def explorer(one: Agent, wording: Wording) -> str:
    """Return the definition of the read-only subagent for an agent."""
    assert one.explorer is not None, "the agent has subagents"
    head = {"with_mcp": "", "name": "", "separator": "", "without": ""} | one.explorer
    narrow = "`pathFilter`" if wording.server else "`-p <directory>`"
    body = fill(template(SHARED, "context-explorer.md"), search=search_sentence(wording), narrow=narrow)
    tools = head["without"]
    if wording.server:
        # The subagent is read-only: tools that store something are for the main agent.
        reading = [fill(head["name"], tool=tool) for tool in wording.tools if TOOLS[tool].is_read_only]
        tools = fill(head["with_mcp"], names=head["separator"].join(reading))
    return fill(template(one.name, head["template"]), body=body.rstrip("\n"), tools=tools)


def rule(one: Agent, name: str, wording: Wording) -> str:
    """Return the instructions as a separate file, for agents with rule files."""
    return fill(template(one.name, name), instructions=instructions(wording))


def command_rules(one: Agent, name: str, program: str) -> str:
    """Return the rules that allow an agent to run read-only commands."""
    quoted = [_quoted(command) for command in READ_ONLY]
    examples = ", ".join(_quoted(f"git ctx {command}") for command in READ_ONLY)
    commands = f"[{', '.join(quoted)}]"
    programs = f"[{', '.join(map(_quoted, dict.fromkeys(('git-ctx', program))))}]"
    return fill(template(one.name, name), programs=programs, commands=commands, examples=examples)


def server_table(one: Agent, name: str, program: str, arguments: Sequence[str]) -> str:
    """Return the configuration of the server in TOML."""
    listed = f"[{', '.join(map(_quoted, arguments))}]"
    return fill(template(one.name, name), program=_quoted(program), arguments=listed).rstrip("\n")


def hook_sentence(name: str, wording: Wording) -> str:
    """Return the sentence of a hook for the agent."""
    return fill(template(SHARED, f"{name}.txt"), search=search_sentence(wording)).rstrip("\n")


def _quoted(text: str) -> str:
    """Return a string literal for TOML and Starlark."""
    escaped = "".join(
        f"\\{sign}" if sign in '"\\' else f"\\u{ord(sign):04x}" if ord(sign) < 32 else sign for sign in text
    )
    return f'"{escaped}"'
