"""Tests of the server over streamable HTTP: the SDK's client, and unauthorized requests."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from conversations import FILES, HELLO, start, text
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from repositories import Repo

TYPES = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@contextmanager
def serving(path: Path, *more: str) -> Iterator[tuple[subprocess.Popen[bytes], str, str]]:
    """Start a server over HTTP; yield its address and its output on stderr."""
    process = start(path, "--http", *more)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().decode().strip()
        yield process, url, process.stderr.readline().decode().strip()
    finally:
        process.kill()
        process.communicate()


def token_of(said: str) -> tuple[Path, str]:
    """Return the file that the server named, and the token in it."""
    path = Path(said.rpartition("the token is in ")[2])
    token: str = json.loads(path.read_text())["token"]
    return path, token


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit(FILES)
    return repo


def test_the_sdks_own_client_finds_the_function(project: Repo) -> None:
    """Two clients of one server have separate sessions; progress is sent over HTTP too."""
    seen: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append(done)

    async def ask(url: str, token: str) -> Any:
        client = create_mcp_http_client({"Authorization": f"Bearer {token}"})
        async with (
            client,
            streamable_http_client(url, http_client=client) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            return await session.call_tool(
                "code_search", {"text": "where is an expired session renewed"}, progress_callback=progress
            )

    with serving(project.path) as (_, url, said):
        _, token = token_of(said)
        for _ in range(2):
            result = anyio.run(ask, url, token)
            assert result.structured_content["hits"][0]["symbol"] == "renew_session"
            assert "Push the expiry" in text(result)
    assert seen


def test_unauthorized_requests_are_rejected(project: Repo) -> None:
    """Reject a wrong or missing token, another origin and another host; log no token."""
    with serving(project.path) as (process, url, said):
        _, token = token_of(said)
        good = TYPES | {"authorization": f"Bearer {token}"}
        port = httpx.URL(url).port
        for headers, status in [
            (TYPES, 401),
            (TYPES | {"authorization": "Bearer"}, 401),
            (TYPES | {"authorization": f"Bearer {token[:-1]}"}, 401),
            (TYPES | {"authorization": f"Basic {token}"}, 401),
            (good | {"origin": "http://evil.example"}, 403),
            (good | {"origin": f"http://evil.example:{port}"}, 403),
            (good | {"origin": "null"}, 403),
            (good | {"host": f"evil.example:{port}"}, 421),
            (good | {"host": f"localhost.evil.example:{port}"}, 421),
            (good | {"host": "127.0.0.1:1"}, 421),
            (good | {"origin": f"http://localhost:{port}", "host": f"localhost:{port}"}, 200),
            (good, 200),
        ]:
            assert httpx.post(url, json=HELLO, headers=headers, trust_env=False).status_code == status, (
                headers
            )
        refused = httpx.post(url, json=HELLO, headers=TYPES, trust_env=False)
        assert refused.headers["www-authenticate"].startswith("Bearer")
        for method in ("GET", "DELETE", "OPTIONS"):
            assert httpx.request(method, url, trust_env=False).status_code == 401
        assert httpx.get(url.removesuffix("/mcp"), trust_env=False).status_code == 401
        process.terminate()
        out, err = process.communicate(timeout=60)
    assert token not in (out + err).decode()
    assert process.returncode == 0


def test_token_file_is_private_and_removed_with_the_server(project: Repo) -> None:
    """The token is not printed, and the file of a killed server is removed at the next start."""
    with serving(project.path) as (process, url, said):
        path, token = token_of(said)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert json.loads(path.read_text()) == {"url": url, "token": token, "pid": process.pid}
        assert token not in said
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        assert not path.exists()
    with serving(project.path) as (process, _, said):
        left, other = token_of(said)
        assert other != token
        process.kill()
        process.wait()
        assert left.exists()
    with serving(project.path) as (_, _, said):
        assert not left.exists() or left == token_of(said)[0]


def test_token_and_port_can_be_chosen(project: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CTX_MCP_TOKEN", "a-token-that-i-chose")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving(project.path, "--port", str(port)) as (_, url, said):
        assert url == f"http://127.0.0.1:{port}/mcp"
        assert said.endswith("the token is that of GIT_CTX_MCP_TOKEN")
        good = TYPES | {"authorization": "bearer a-token-that-i-chose"}
        assert httpx.post(url, json=HELLO, headers=good, trust_env=False).status_code == 200
        assert not (Path(os.environ["HOME"]) / "state" / "git-ctx" / "run").exists()
        second = start(project.path, "--http", "--port", str(port))
        out, err = second.communicate(timeout=60)
        assert (second.returncode, out) == (128, b"")
        assert b"leave --port out" in err
    monkeypatch.setenv("GIT_CTX_MCP_TOKEN", "short")
    refused = start(project.path, "--http")
    out, err = refused.communicate(timeout=60)
    assert (refused.returncode, out) == (129, b"")
    assert b"at least 16" in err


def test_server_listens_on_the_loopback_interface_only(project: Repo) -> None:
    """Another address of this machine is refused."""
    with serving(project.path) as (process, url, _):
        port = httpx.URL(url).port
        listening = [
            line.split()[1]
            for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
        ]
        assert listening == [f"0100007F:{port:04X}"]
