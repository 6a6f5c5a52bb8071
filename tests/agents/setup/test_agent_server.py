"""Tests of the configured server, started by the SDK's client with the command that set-up wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from ctx.agents.setup.blocks import read_toml

PLACES = {
    "claude": (".mcp.json", "mcpServers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "junie": (".junie/mcp/mcp.json", "mcpServers"),
    "opencode": ("opencode.json", "mcp"),
    "zed": (".zed/settings.json", "context_servers"),
}
"""Those that name the project by a variable of their own, or none, are started by nobody else."""


@pytest.mark.parametrize("option", ["--mcp", "--mcp-minimal"])
def test_the_server_in_a_configuration_finds_the_function(repo, git_ctx, option):
    """Each distinct command is started once, even if several configurations have it."""
    repo.commit(
        {"a.py": 'def renew_session(session):\n    """Renew an expired session."""\n    return session\n'}
    )
    commands = set()
    for name, (place, key) in PLACES.items():
        assert git_ctx("setup-agent", "--agent", name, option, "--yes").status == 0
        text = (repo.path / place).read_text()
        entry = (read_toml(text) if place.endswith(".toml") else json.loads(text))[key]["git-ctx"]
        command = entry["command"]
        commands.add(tuple(command) if isinstance(command, list) else (command, *entry["args"]))
    for words in commands:
        tools, instructions, answer = anyio.run(conversation, words, repo.path, option == "--mcp-minimal")
        assert "code_search" in tools
        assert (tools == ["code_search"]) == (option == "--mcp-minimal")
        assert ("history_search" in instructions) == ("history_search" in tools)
        assert "renew_session" in answer.content[0].text


async def conversation(words: Sequence[str], path: Path, is_minimal: bool) -> tuple[list[str], str, Any]:
    """Return the tools and the instructions of a server, and an answer."""
    parameters = StdioServerParameters(
        command=words[0], args=list(words[1:]), cwd=str(path), env=dict(os.environ)
    )
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        said = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        question = {"text": "where is an expired session renewed", "pathFilter": "*.py"}
        answer = await session.call_tool("code_search", question)
        refused = await session.call_tool("read_lines", {"path": "a.py"})
        assert refused.is_error == is_minimal
        return tools, said.instructions or "", answer
