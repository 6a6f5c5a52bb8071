"""Transports of an index, each with git's own server: the recipes of docs/sharing.md."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from repositories import Repo
from teams import REF, clone, done, git, git_ctx, published, snapshots, tree


def free_port() -> int:
    """Return a free port on loopback."""
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        return server.server_port


@pytest.fixture
def daemon(remote: Path) -> Iterator[str]:
    """`git daemon`, with pushing allowed."""
    port = free_port()
    words = [
        "git",
        "daemon",
        f"--base-path={remote.parent}",
        "--export-all",
        "--enable=receive-pack",
        "--listen=127.0.0.1",
    ]
    process = subprocess.Popen([*words, f"--port={port}", "--reuseaddr"], stderr=subprocess.DEVNULL)
    address = f"git://127.0.0.1:{port}/remote.git"
    for _ in range(100):
        if subprocess.run(["git", "ls-remote", address], capture_output=True).returncode == 0:
            break
        time.sleep(0.1)
    yield address
    process.terminate()
    process.wait()


class Backend(http.server.BaseHTTPRequestHandler):
    """A web server in front of `git http-backend`."""

    root = ""

    def do_GET(self) -> None:
        self.serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.serve(body)

    def serve(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        variables = {
            **os.environ,
            "GIT_PROJECT_ROOT": self.root,
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "somebody",
            "REMOTE_ADDR": "127.0.0.1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        done_ = subprocess.run(["git", "http-backend"], input=body, capture_output=True, env=variables)
        head, _, content = done_.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def web(remote: Path) -> Iterator[str]:
    """The remote over HTTP."""
    Backend.root = str(remote.parent)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/remote.git"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("kind", ["daemon", "web", "file"])
def test_a_build_machine_pushes_and_a_newcomer_fetches(
    remote: Path, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Each commit of `main` is pushed at once; a later clone finds the newest."""
    address = remote.as_uri() if kind == "file" else request.getfixturevalue(kind)
    builder = clone(address, tmp_path / "builder")
    for number in range(2):
        builder.commit({"src/f1.py": f"def renewed():\n    return {number}\n"})
        builder.git("push", "--quiet", "origin", "HEAD")
        assert git_ctx(builder.path, "push", "--with-words", "--json-output").status == 0
    newcomer = clone(address, tmp_path / "newcomer")
    report = done(newcomer.path, "fetch")
    assert (report["lacking"], report["refused"]) == (0, [])
    assert (report["words"]["clusters"], report["words"]["refused"]) == (report["clusters"], [])
    share = newcomer.path / ".git/ctx/share.git"
    kinds = git(share, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert (kinds.count("commit"), kinds.count("blob")) == (1, 2 * report["clusters"])


def test_a_fresh_checkout_for_each_merge(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """A stateless build machine with a clone of one commit embeds only the changes."""
    embedded = []
    for number in range(3):
        ada.commit({"src/f1.py": f"def renewed():\n    return {number}\n"})
        ada.git("push", "--quiet", "origin", "HEAD")
        machine = clone(remote.as_uri(), tmp_path / f"machine{number}", "--depth=1")
        assert git_ctx(machine.path, "fetch").status == (0 if number else 1)
        run = git_ctx(machine.path, "index", "--ci")
        assert run.status == 0
        embedded.append(int(re.findall(r"(\d+) chunks? embedded", run.out)[-1]))
        assert done(machine.path, "push", "--with-words")["snapshots"] == 1
    # The cluster of the file that changed has others too, unless that of the commit before is here.
    assert embedded[0] > 50
    assert max(embedded[1:]) < 20
    ada.commit({"src/f1.py": "def renewed():\n    return 7\n"})
    ada.git("push", "--quiet", "origin", "HEAD")
    machine = clone(remote.as_uri(), tmp_path / "machine", "--depth=2")
    done(machine.path, "fetch", "--revision", "HEAD^", "--revision", "HEAD")
    assert "1 chunk embedded" in git_ctx(machine.path, "index", "--ci").out


def test_a_bundle_crosses_an_air_gap(ada: Repo, bob: Repo, tmp_path: Path) -> None:
    """One file with the ref in it is a remote too."""
    done(ada.path, "push")
    ada.git("fetch", "--quiet", "origin", f"{REF}:{REF}")
    ada.git("bundle", "create", "--quiet", str(tmp_path / "ctx.bundle"), REF)
    bob.git("remote", "remove", "origin")
    report = done(bob.path, "fetch", str(tmp_path / "ctx.bundle"))
    assert (report["lacking"], report["refused"]) == (0, [])
    assert report["clusters"] > 3


def test_a_mirror_is_fetched_from(ada: Repo, bob: Repo, remote: Path, tmp_path: Path) -> None:
    """`git clone --mirror` copies the ref; a fetch needs no permission to push."""
    done(ada.path, "push")
    git(tmp_path, "clone", "--quiet", "--mirror", str(remote), "mirror.git")
    assert done(bob.path, "fetch", str(tmp_path / "mirror.git"))["lacking"] == 0


def test_a_fork_takes_from_upstream_and_gives_to_itself(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """Fetched data of one remote is pushed to another without being rebuilt."""
    done(ada.path, "push")
    git(tmp_path, "clone", "--quiet", "--bare", str(remote), "fork.git")
    mine = clone(tmp_path / "fork.git", tmp_path / "mine")
    mine.git("remote", "add", "upstream", str(remote))
    assert done(mine.path, "fetch", "upstream")["lacking"] == 0
    assert done(mine.path, "push", "origin")["snapshots"] == 1
    assert snapshots(tmp_path / "fork.git") == {tree(mine)}
    assert published(remote).keys() == published(tmp_path / "fork.git").keys()


def test_equal_pushes_to_two_remotes_in_one_second(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """They are two commits, because git refuses to push one that it fetched without its history."""
    now = {"GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000"}
    done(ada.path, "push", **now)
    git(tmp_path, "init", "--quiet", "--bare", "other.git")
    done(ada.path, "push", str(tmp_path / "other.git"), **now)
    ids = {git(at, "rev-parse", REF) for at in (remote, tmp_path / "other.git")}
    assert len(ids) == 2


def test_a_bare_repository_pushes(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """A server can index its own repository and publish the index in it."""
    assert done(remote, "push", ".")["snapshots"] == 1
    assert snapshots(remote) == {tree(ada)}
    assert done(ada.path, "fetch")["lacking"] == 0
