"""Tests that commands, options, tools and arguments in the texts for agents exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from ctx.agents.mcp.tools import MINIMAL, TOOLS
from ctx.agents.setup import catalog, options, pieces, texts
from ctx.agents.setup.blocks import read_toml
from ctx.agents.setup.texts import Wording
from ctx.cli import main as cli
from ctx.text.tokens import counter

FOLDER = Path(texts.FOLDER)
WORDINGS = [
    Wording(server, minimal, subagent, strong)
    for server in (False, True)
    for minimal in (False, True)
    for subagent in (False, True)
    for strong in (False, True)
]
NAMES = list(catalog.AGENTS)
AGENTS = list(catalog.AGENTS.values())
COMMANDS = {
    name: cli.program.get_command(click.Context(cli.program), name)
    for name in [*cli.COMMANDS, *cli.FOR_HOOKS]
}


def every_text() -> dict[str, str]:
    """Return every text that an agent may get, by its origin."""
    found = {f"instructions {wording}": texts.instructions(wording) for wording in WORDINGS}
    found |= {f"skill {name}": text for name, text in texts.skills().items()}
    for name in ("prompt", "nudge"):
        found |= {f"{name} {wording}": texts.hook_sentence(name, wording) for wording in WORDINGS}
    for scope in catalog.SCOPES:
        for minimal in (False, True):
            components = frozenset(options.COMPONENTS)
            request = options.SetupOptions(scope, "/src", NAMES, components, "/bin/git-ctx", True, minimal)
            for one in options.placements(request):
                if isinstance(one.piece.value, str):
                    found[f"{one.agent} {Path(one.path).name} minimal={minimal}"] = one.piece.value
    return {where: text for text, where in {text: where for where, text in found.items()}.items()}


TEXTS = every_text()


def command_lines(text: str) -> list[list[str]]:
    """Return each command line of git-ctx in a text, as words."""
    spans = re.findall(r"`([^`\n]+)`", text) + re.findall(r'"(git ctx [^"]*)"', text)
    return [shlex.split(span) for span in spans if re.match(r"git[ -]ctx\s", span)]


def options_of(command: click.Command) -> dict[str, click.Option]:
    return {
        name: parameter
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }


@pytest.mark.parametrize("where", TEXTS)
def test_commands_and_options_exist(where):
    for words in command_lines(TEXTS[where]):
        rest = words[2:] if words[0] == "git" else words[1:]
        if rest == ["--version"]:
            continue
        command = COMMANDS[rest[0]]
        assert rest[0] in cli.COMMANDS
        known = options_of(command)
        for place, word in enumerate(rest):
            if word.startswith("-"):
                option = known[word]
                if isinstance(option.type, click.Choice) and not rest[place + 1].startswith("<"):
                    assert rest[place + 1] in option.type.choices
                assert option.is_flag or len(rest) > place + 1


@pytest.mark.parametrize("where", TEXTS)
def test_tools_exist(where):
    # Agents put the name of the server before that of a tool.
    text = re.sub(r"mcp_+git-ctx_+", "", TEXTS[where])
    minimal = "minimal=True" in where and "skill" not in where
    for name in re.findall(r"\b(?:[a-z]+_)?(?:search|related|lines|history|explain|pack)\b", text):
        if "_" in name and name not in ("grep_search",):
            assert name in TOOLS
            assert name in (MINIMAL if minimal else TOOLS)
    for argument in re.findall(r"`(text|[a-z]+[A-Z][A-Za-z]+)`", text):
        assert argument in TOOLS["code_search"].properties
    assert "{{" not in text


def test_instructions_name_the_installed_ways_of_searching():
    for wording in WORDINGS:
        text = texts.instructions(wording)
        assert ("`code_search`" in text) == wording.server
        assert ("`git ctx search" in text) == (not wording.server)
        assert ("context-explorer" in text) == wording.subagent
        assert ("### Required" in text) == wording.strong
        assert counter()(text) < 600
    for name in TOOLS:
        assert f"`{name}`" in texts.instructions(Wording(server=True))


def test_skills_have_valid_front_matter():
    assert set(texts.skills()) == {"context-search", "context-review", "context-research", "context-install"}
    for name, text in texts.skills().items():
        head = re.match(r"---\nname: (\S+)\ndescription: (.+)\n---\n", text)
        assert head[1] == name
        assert len(head[2]) <= 1024
        assert pieces.MARK in text


@pytest.mark.parametrize("name", [one.name for one in AGENTS if one.explorer])
@pytest.mark.parametrize("wording", [Wording(), Wording(server=True), Wording(server=True, minimal=True)])
def test_subagent_has_the_format_of_its_agent(name, wording):
    text = texts.explorer(catalog.AGENTS[name], wording)
    if name == "codex":
        found = read_toml(text)
        assert found["name"] == "context-explorer"
        assert found["sandbox_mode"] == "read-only"
        text = found["developer_instructions"]
    else:
        head = text.split("---\n")[1]
        assert "description: " in head
        assert "Edit" not in head
        assert "Write" not in head
    for part in ("Searched", "Read", "Findings", "Notes", "three searches and three reads", "1,500 to 3,000"):
        assert part in text
    assert ("code_search" in text) == wording.server


def test_rules_of_codex_allow_commands_that_only_read():
    text = texts.command_rules(catalog.AGENTS["codex"], "git-ctx.rules", '/opt/a "b"/git-ctx')
    assert r'"/opt/a \"b\"/git-ctx"' in text
    calls = []
    # Starlark and Python read this alike.
    exec(compile(text, "rules", "exec"), {"prefix_rule": lambda **given: calls.append(given)})
    for call in calls:
        assert call["decision"] == "allow"
        assert set(call["pattern"][-1]) == set(texts.READ_ONLY)
    (rule,) = [call for call in calls if "match" in call]
    for example in rule["match"]:
        assert example.split()[:2] == rule["pattern"][:2]
        assert example.split()[2] in rule["pattern"][2]
    for example in rule["not_match"]:
        assert example.split()[2] not in rule["pattern"][2]
        assert example.split()[2] in cli.COMMANDS
    assert set(texts.READ_ONLY) <= set(cli.COMMANDS)


def test_definitions_of_agents_are_complete():
    folders = {path.name for path in FOLDER.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders <= {texts.SHARED, *NAMES}
    for one in AGENTS:
        for hook in one.hooks:
            assert hook["does"] in ("session", "prompt", "tool")
        for scope in catalog.SCOPES:
            for place in one.places[scope]:
                kinds = "instructions rule skills subagent mcp hooks rules new_instructions new_mcp"
                assert place in kinds.split()


def test_hook_commands_are_known_to_the_program():
    for one in AGENTS:
        request = options.SetupOptions(
            "project", "/src", [one.name], frozenset(options.COMPONENTS), "/a b/git-ctx"
        )
        for wanted in options.placements(request):
            if wanted.piece.form == pieces.ITEM:
                assert pieces.is_hook(wanted.piece.value)
                (command,) = re.findall(r'"command": "([^"]*)"', __import__("json").dumps(wanted.piece.value))
                words = shlex.split(command.partition(" || ")[2])
                assert words[0] == "/a b/git-ctx"
                assert words[1] in cli.FOR_HOOKS


def test_the_page_on_agents_names_every_place():
    page = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([^`\n]+)`", page))
    for one in AGENTS:
        assert one.name in named
        for scope in catalog.SCOPES:
            for kind, place in one.places[scope].items():
                if not kind.startswith("new_"):
                    assert set([place] if isinstance(place, str) else place) <= named
    for command in texts.READ_ONLY:
        assert command in named
