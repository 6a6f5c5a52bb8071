"""Tests of the MCP server with the SDK's client over stdin and stdout."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from conversations import FILES, call_here, talk, talk_here, text
from mcp import ClientSession
from repositories import Repo

from ctx.agents.mcp.tools import TOOLS
from ctx.text.tokens import counter


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit(FILES)
    return repo


def test_the_first_call_in_an_unknown_project_finds_the_function(project: Repo) -> None:
    """The first call indexes and reports progress; the answer has path, lines, text and a citation."""
    seen: list[float] = []

    async def conversation(session: ClientSession) -> Any:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            seen.append(done)

        return await session.call_tool(
            "code_search", {"text": "where is an expired session renewed"}, progress_callback=progress
        )

    result = talk(project.path, conversation)
    assert not result.is_error
    first = result.structured_content["hits"][0]
    assert (first["path"], first["symbol"]) == ("src/session.py", "renew_session")
    assert "Push the expiry" in text(result)
    assert f"[{first['citation']}]" in text(result)
    assert seen


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("ask the user a yes or no question and read the answer", "confirm"),
        ("let the user write a text in an editor", "edit"),
        ("remove ANSI escape sequences from a string", "unstyle"),
        ("open a URL or a file in the default application", "launch"),
    ],
)
def test_the_first_call_in_a_foreign_project_shows_the_function(repo: Repo, question: str, name: str) -> None:
    """Search the source of click, which is not indexed, with nothing but a text."""
    folder = Path(click.__file__).parent
    repo.commit({f"src/click/{file.name}": file.read_bytes() for file in folder.glob("*.py")})
    (result,) = call_here(repo.path, ("code_search", {"text": question}))
    assert re.search(rf"^\d+\t *def {name}\(", text(result), re.MULTILINE), text(result)


def test_schemas_are_flat_and_descriptions_say_when_to_use_a_tool(project: Repo) -> None:
    """No unions, no additional properties, and the listed tools are the defined ones."""

    async def conversation(session: ClientSession) -> Any:
        return (await session.list_tools()).tools

    tools = talk_here(project.path, conversation)
    assert [tool.name for tool in tools] == list(TOOLS)
    for tool in tools:
        assert tool.input_schema["additionalProperties"] is False
        assert "anyOf" not in json.dumps(tool.input_schema)
        assert {schema["type"] for schema in tool.input_schema["properties"].values()} <= {
            "string",
            "integer",
        }
        assert "Use it" in tool.description
        assert tool.annotations.read_only_hint is (tool.name != "pack")


def test_each_call_sees_the_current_files(project: Repo) -> None:
    """Edits, commits, other revisions, and `changedIn`."""

    async def conversation(session: ClientSession) -> Any:
        async def first(arguments: dict[str, Any]) -> Any:
            result = await session.call_tool("code_search", arguments)
            return [hit["symbol"] for hit in result.structured_content["hits"]]

        before = await first({"text": "mix two colours"})
        project.write({"src/colour.py": "def mix_colours(a, b):\n    return (a + b) / 2\n"})
        edited = await first({"text": "mix two colours"})
        changed = await first({"text": "mix two colours", "changedIn": "HEAD"})
        project.commit({})
        committed = await first({"text": "mix two colours", "revision": "HEAD"})
        old = await first({"text": "mix two colours", "revision": "HEAD~1"})
        return before, edited, changed, committed, old

    before, edited, changed, committed, old = talk_here(project.path, conversation)
    assert "mix_colours" not in before
    assert edited[0] == committed[0] == "mix_colours"
    assert changed == ["mix_colours"]
    assert "mix_colours" not in old


@pytest.mark.parametrize("most", [200, 400, 1500])
def test_answers_stay_within_max_tokens(repo: Repo, most: int) -> None:
    """Text and values together stay within the limit for any hits."""
    body = "\n".join(f"    total = total + session * {line}  # näher am Ziel {line}" for line in range(30))
    repo.commit(
        {f"src/f{n}.py": f"def session_{n}(session, total):\n{body}\n    return total\n" for n in range(9)}
    )

    async def conversation(session: ClientSession) -> Any:
        found = await session.call_tool(
            "code_search", {"text": "the session and its total", "maxTokens": most}
        )
        read = await session.call_tool("read_lines", {"path": "src/f1.py", "maxTokens": most})
        return found, read

    count = counter()
    for result in talk_here(repo.path, conversation):
        values = json.dumps(result.structured_content, ensure_ascii=False)
        assert count(text(result)) + count(values) <= most
        assert not result.is_error


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("code_search", {}, "needs text"),
    ("code_search", {"text": "x", "depth": 3}, "has no argument 'depth'; it has text"),
    ("code_search", {"text": 3}, "has to be a text"),
    ("code_search", {"text": "x", "limit": 1000}, "has to be 1 to 100"),
    ("code_search", {"text": "x", "limit": True}, "whole number"),
    ("code_search", {"text": "x", "pathFilter": "../other"}, "leads out of the project"),
    ("code_search", {"text": "x", "pathFilter": "/etc"}, "leads out of the project"),
    ("code_search", {"text": "x", "revision": "nowhere"}, "'nowhere'"),
    ("code_search", {"text": "x", "revision": "HEAD", "changedIn": "HEAD"}, "leave revision out"),
    ("read_lines", {}, "either path or citation"),
    ("read_lines", {"path": "../x"}, "not a path inside the project"),
    ("read_lines", {"path": "/etc/passwd"}, "not a path inside the project"),
    ("read_lines", {"path": ".git/config"}, "leads out of the project"),
    ("read_lines", {"path": "link"}, "leads out of the project"),
    ("read_lines", {"path": "nothing.py"}, "no file"),
    ("read_lines", {"path": "src/session.py", "startLine": 900}, "is past its end"),
    ("read_lines", {"path": "src/none.py", "revision": "HEAD"}, "in this tree"),
    ("find_related", {"place": "src/none.py:3"}, "none.py"),
    ("open_door", {}, "there is no tool 'open_door'"),
    ("code_search", {"text": "a\0b"}, "invalid character"),
    ("code_search", {"text": "x", "pathFilter": "src\0"}, "invalid character"),
    ("code_search", {"text": "x", "revision": "--output=leak"}, "--output=leak"),
    ("code_search", {"text": "x", "changedIn": "--output=leak"}, "--output=leak"),
    ("code_search", {"text": "x", "changedIn": "HEAD...nowhere"}, "nowhere"),
    ("history_search", {"text": "x", "branch": "--output=leak"}, "--output=leak"),
    ("read_lines", {"path": "src", "revision": "HEAD"}, "is not a file"),
    ("read_lines", {"path": "src/session.py/x", "revision": "HEAD"}, "in this tree"),
    ("read_lines", {"path": "src/session.py", "revision": "--output=leak"}, "--output=leak"),
    ("read_lines", {"path": ".GIT/config"}, ""),
    ("read_lines", {"path": "pipe"}, "no file"),
    ("read_lines", {"citation": "src/session.py"}, "citation"),
]


def test_invalid_calls_are_tool_errors_with_advice(project: Repo, tmp_path: Path) -> None:
    """The server keeps running."""
    (tmp_path / "outside").write_text("secret")
    os.symlink(tmp_path / "outside", project.path / "link")
    os.mkfifo(project.path / "pipe")

    async def conversation(session: ClientSession) -> Any:
        results = [await session.call_tool(name, arguments) for name, arguments, _ in BAD]
        return results, await session.call_tool(
            "read_lines", {"path": "src/session.py", "startLine": 4, "endLine": 5}
        )

    results, good = talk_here(project.path, conversation)
    for result, (name, arguments, words) in zip(results, BAD, strict=True):
        assert result.is_error, (name, arguments)
        assert words in text(result), (name, arguments, text(result))
        assert "bug in git-ctx" not in text(result), (name, arguments)
    assert not list(tmp_path.rglob("leak"))
    assert text(good).splitlines()[:2] == ["src/session.py:4-5", "4\tdef renew_session(token):"]


def test_citations_and_related_code(project: Repo) -> None:
    async def conversation(session: ClientSession) -> Any:
        found = await session.call_tool("code_search", {"text": "renew session"})
        citation = found.structured_content["hits"][0]["citation"]
        project.write({"src/session.py": "gone = True\n"})
        read = await session.call_tool("read_lines", {"citation": citation})
        related = await session.call_tool("find_related", {"place": citation})
        return read, related

    read, related = talk_here(project.path, conversation)
    assert "Push the expiry" in text(read)
    assert not related.is_error


def test_two_hundred_calls_at_once(project: Repo) -> None:
    async def conversation(session: ClientSession) -> Any:
        found: list[Any] = []

        async def one() -> None:
            found.append(await session.call_tool("code_search", {"text": "renew session", "limit": 1}))

        async with anyio.create_task_group() as group:
            for _ in range(200):
                group.start_soon(one)
        return found

    found = talk(project.path, conversation)
    assert {text(result) for result in found} == {text(found[0])}
    assert len(found) == 200
