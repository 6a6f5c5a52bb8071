"""The keys of every JSON object, as docs/json.md promises them: a key that goes or changes fails here."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_project import GitCtx, Project

GOLDEN = Path(__file__).with_name("json_keys.txt")
MAPS = {
    "after", "before", "checked", "contributions", "evidence", "languages", "leftOut", "options", "removed",
    "skipped", "skippedFiles", "sourceHash", "recall", "groups", "otherDescriptors", "weights",
}  # fmt: skip
"""Objects whose keys are data."""


def golden() -> dict[str, str]:
    """Return the keys of each command; a command is a line without indentation."""
    sections: dict[str, str] = {}
    name = ""
    for line in GOLDEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            sections[name] += " " + line.strip()
        elif line:
            name = line
            sections[name] = ""
    return {name: text.strip() for name, text in sections.items()}


def keys(value: Any, before: str = "") -> Iterator[str]:
    """Yield the keys of an object and of those inside it, such as `hits.path`."""
    if isinstance(value, list):
        for one in value:
            yield from keys(one, before)
    if isinstance(value, dict):
        for key, inside in value.items():
            yield before + key
            if key not in MAPS:
                yield from keys(inside, f"{before}{key}.")


@pytest.fixture
def busy(project: Project, make_repo: Any, tmp_path: Path) -> Project:
    """A project with two commits, a submodule, a remote and configured model services."""
    other = make_repo("other")
    other.commit({"deep.py": "def renew_deeply(session):\n    return session\n"})
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "below")
    text = (project.path / "src/session.py").read_text(encoding="utf-8")
    project.commit({"src/session.py": text.replace("lifetime", "duration"), "src/again.py": text})
    make_repo("remote", "--bare")
    project.git("remote", "add", "origin", str(tmp_path / "remote"))
    for kind in ("reranker", "expander"):
        project.git("config", f"ctx.{kind}.url", "http://127.0.0.1:9")
        project.git("config", f"ctx.{kind}.model", "none")
    return project


SETUP = {
    "verify": "index",
    "gc": "pin HEAD",
    "pack --list": "pack --task 'renew a session'",
    "fetch": "push",
    "push --compact --keep-branches": "push",
    "status": "index",
    "status --log": "--enable-local-logging index",
}


@pytest.mark.parametrize("command", golden())
def test_keys_of_every_command(git_ctx: GitCtx, busy: Project, command: str) -> None:
    if command in SETUP:
        assert git_ctx(*shlex.split(SETUP[command]), cwd=busy.path).status == 0
    blob = busy.git("rev-parse", "HEAD:src/session.py")
    words = shlex.split(command.replace("<blob>", blob))
    if "--json-output" not in words:
        words.append("--json")
    run = git_ctx(*words, cwd=busy.path, stdin=b"")
    found: set[str] = set()
    for line in run.out.splitlines():
        value = json.loads(line)
        found |= {f"[{value['type']}]", *keys(value)}
    assert sorted(found) == sorted(golden()[command].split()), run.err


PAGE = (Path(__file__).resolve().parents[2] / "docs/json.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def section(command: str) -> str:
    """Return what the page says about a command and about all of them."""
    name = " ".join(command.split()[: 2 if command.startswith("model") else 1])
    found = [text for title, text in SECTIONS.items() if f"`{name}`" in title]
    assert found, name
    found += [SECTIONS[title] for title in ("Conventions", "Compatibility", "The tree of an answer")]
    if name == "related":
        found.append(SECTIONS["`search`"])
    if "--json-output" in command:
        found.append(SECTIONS["The published search schema"])
    return "".join(found)


def test_the_page_names_every_key_of_a_command_in_its_section() -> None:
    elsewhere = ("explain ", "pack --task", "search 'renew a session' --explain")  # evidence.md, packs.md
    for command, text in golden().items():
        if not command.startswith(elsewhere):
            named = set(re.findall(r"\w+", section(command)))
            assert set(re.findall(r"\w+", text)) - named == set(), command


IN_OTHER_STATES = {
    "finished": {"remote"},  # a model service is configured
    "skipped": {"type", "reason"},  # the tree is indexed already
    "fetched": {"type", "objects"},  # index --fetch
    "gc_result": {"skipped"},  # gc --auto
    "pin_result": {"unpinned"},  # pin --remove
    "remove_index_result": {"remote", "removed"},  # remove-index --remote
}
"""Keys of examples that the commands in json_keys.txt do not print. Other tests have them."""


def examples() -> Iterator[dict[str, Any]]:
    """Yield the objects in the blocks of the page."""
    decoder = json.JSONDecoder()
    for block in re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        rest = block.strip()
        while rest:
            value, end = decoder.raw_decode(rest)
            rest = rest[end:].strip()
            yield value


def test_the_examples_of_the_page_have_no_other_keys() -> None:
    printed: dict[str, set[str]] = {}
    for text in golden().values():
        types = re.findall(r"\[(\w+)\]", text)
        for one in types:
            printed.setdefault(one, set()).update(text.split())
    for example in examples():
        kind = example["type"]
        known = printed.get(kind, set()) | IN_OTHER_STATES.get(kind, set())
        assert set(example) - known == set(), kind


def test_every_command_that_prints_data_takes_json(git_ctx: GitCtx) -> None:
    from ctx.cli.main import COMMANDS, OLD_NAMES

    without = {"mcp", "model", "model login", "model logout"}
    for name in [*COMMANDS, *(f"model {one}" for one in OLD_NAMES)]:
        text = git_ctx(*name.split(), "-h").text
        assert ("--json" in text) == (name not in without), name
    tested = {command.split()[0] for command in golden()}
    assert set(COMMANDS) - {"mcp"} == tested


def test_the_older_spelling_prints_the_same(git_ctx: GitCtx, project: Project) -> None:
    for command in ("plan", "related src/session.py:12 --no-content", "history renew", "status"):
        words = command.split()
        runs = [git_ctx(*words, spelling, cwd=project.path).json for spelling in ("--json", "--json-output")]
        assert runs[0]["type"] == runs[1]["type"]
        assert set(keys(runs[0])) == set(keys(runs[1])), command
