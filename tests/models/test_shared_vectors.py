"""Vectors of a model service, pushed and fetched: each text is paid for once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from repositories import Repo
from service import DIMENSIONS, Service
from service_project import configure, git_ctx, source

from ctx.share.layout import decode_probe, encode_probe
from ctx.storage.store import decode_object, encode_object

REF = "refs/notes/ctx"
QUESTION = "invoice of a candle"


def done(path: Path, *arguments: str) -> Any:
    """Return the object that the program prints; it must succeed."""
    run = git_ctx(path, *arguments, "--json-output")
    assert run.status == 0, run
    return run.json


def documents(service: Service) -> list[str]:
    """Return the texts of files that were sent."""
    return [text for text in service.texts() if text.startswith("Filepath: ")]


def results(path: Path) -> Any:
    """Return the results, the models and the message."""
    answer = done(path, "search", QUESTION)
    return answer["results"], answer["rankedWith"], answer["message"]


@pytest.fixture
def remote(project: Repo, tmp_path: Path) -> Path:
    """A bare repository that the project can be pushed to and cloned from."""
    place = tmp_path / "remote.git"
    project.git("clone", "--quiet", "--bare", str(project.path), str(place))
    project.git("remote", "add", "origin", str(place))
    return place


@pytest.fixture
def joined(remote: Path, service: Service, tmp_path: Path) -> Callable[..., Repo]:
    """Return a function that makes a clone configured to use the service."""

    def make(name: str = "joined", **settings: str) -> Repo:
        place = tmp_path / name
        subprocess.run(["git", "clone", "--quiet", str(remote), str(place)], check=True)
        repo = Repo(place)
        configure(repo, service, **settings)
        return repo

    return make


def published(remote: Path, kind: str) -> list[str]:
    """Return the paths under the ref that belong to the model service."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", REF], cwd=remote, capture_output=True, check=True, text=True
    )
    return [path for path in listed.stdout.splitlines() if path.startswith(kind) and "bag-of-words" in path]


def spoil(remote: Path, path: str, change: Callable[[bytes], bytes]) -> None:
    """Put other bytes at a path under the ref."""

    def git(*arguments: str, stdin: bytes = b"") -> bytes:
        env = {**os.environ, "GIT_INDEX_FILE": str(remote / "scratch-index")}
        return subprocess.run(
            ["git", *arguments], cwd=remote, input=stdin, capture_output=True, check=True, env=env
        ).stdout

    content = change(git("show", f"{REF}:{path}"))
    oid = git("hash-object", "-w", "--stdin", stdin=content).decode().strip()
    git("read-tree", REF)
    git("update-index", "--add", "--cacheinfo", f"100644,{oid},{path}")
    made = git("commit-tree", git("write-tree").decode().strip(), "-p", REF, "-m", "somebody else")
    git("update-ref", REF, made.decode().strip())


def key_of(path: str) -> str:
    """The key in the path of a cluster, in hexadecimal."""
    return "".join(path.split("/")[-2:])


def payload_changed(path: str, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """The file of a cluster with another payload and a right digest."""
    key = key_of(path)
    return lambda data: encode_object(key, change(decode_object(key, data)))


def other_model(data: bytes) -> bytes:
    """Return the published answer of another model to the fixed texts."""
    said = decode_probe(data, DIMENSIONS)
    return encode_probe(said._replace(probe=-said.probe))


@pytest.mark.parametrize("precision", ["bit", "f16"])
def test_the_second_clone_embeds_nothing(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo], precision: str
) -> None:
    """One push and one fetch transfer both layers, and the answer is that of the first machine."""
    configure(project, service, precision=precision)
    assert done(project.path, "push")["snapshots"] == 2
    assert len(documents(service)) == 8
    repo = joined(precision=precision)
    report = done(repo.path, "fetch")
    assert report["clusters"] == report["remote"]["clusters"] == 1
    assert (report["remote"]["model"], report["remote"]["lacking"]) == ("bag-of-words", 0)
    assert len(documents(service)) == 8
    assert done(repo.path, "index") == {"type": "skipped", "reason": "ALREADY_INDEXED"}
    assert results(repo.path) == results(project.path)
    assert results(repo.path)[1:] == (["bag-of-words"], None)
    assert len(documents(service)) == 8
    assert git_ctx(project.path, "push").out == "origin already has all of it\n"
    assert git_ctx(repo.path, "fsck").status == 0


def test_only_new_vectors_are_transferred_and_missing_ones_are_embedded(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    """Another clone commits, sends one chunk to the model, and its push spares the others the request."""
    done(project.path, "push")
    repo = joined()
    repo.commit({"src/more.py": source("more", 1)})
    run = git_ctx(repo.path, "fetch")
    assert run.out.splitlines()[1].startswith("bag-of-words: ")
    assert "1 is still missing: `git ctx index` has them embedded" in run.out
    assert len(documents(service)) == 8
    repo.git("push", "--quiet", "origin", "HEAD:main")
    done(repo.path, "push")
    sent = len(documents(service))
    project.git("fetch", "--quiet", "origin")
    done(project.path, "fetch", "--revision", "origin/main")
    assert done(project.path, "search", QUESTION, "--revision", "origin/main")["rankedWith"] == [
        "bag-of-words"
    ]
    assert len(documents(service)) == sent


def test_indexing_asks_the_remote_before_the_model(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    """If allowed, also when the layer of the embedded model is already complete, as after a hook."""
    done(project.path, "push")
    repo = joined()
    repo.git("config", "ctx.catchUp", "never")
    assert results(repo.path)[1] == []
    repo.git("config", "ctx.storage", "shared")
    done(repo.path, "index")
    assert len(documents(service)) == 8
    assert results(repo.path)[1] == ["bag-of-words"]
    other = joined("other")
    other.git("config", "ctx.autoFetch", "true")
    assert results(other.path)[1] == ["bag-of-words"]
    assert len(documents(service)) == 8


def test_a_model_that_is_another_one_is_met_before_it_does_harm(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    """By its answer to a fixed text, because vectors of two models are not comparable."""
    done(project.path, "push")
    (probe,) = (path for path in published(remote, "snapshots") if path.endswith("/probe"))
    repo = joined()
    done(repo.path, "fetch")
    spoil(remote, probe, other_model)
    run = git_ctx(project.path, "fetch", "--json-output")
    assert "made by another model of the same name" in run.json["remote"]["problem"]
    project.commit({"src/more.py": source("more", 1)})
    run = git_ctx(project.path, "push")
    assert run.status == 128
    assert "made by another model of the same name" in run.err
    late = joined("late")
    done(late.path, "fetch")
    found = done(late.path, "search", QUESTION)
    assert found["rankedWith"] == []
    assert "another model has the name" in found["message"]
    assert results(repo.path)[1:] == (["bag-of-words"], None)


def cut_short(payload: bytes) -> bytes:
    """Return a payload without the last vector."""
    return payload[:-8]


def other_lines(payload: bytes) -> bytes:
    """Return a payload with another chunk end; it must match the layer of the embedded model."""
    return payload.replace(b"session_apple", b"session_appla")


@pytest.mark.parametrize("change", [cut_short, other_lines])
def test_bad_vectors_are_refused_by_name(
    project: Repo,
    service: Service,
    remote: Path,
    joined: Callable[..., Repo],
    change: Callable[[bytes], bytes],
) -> None:
    done(project.path, "push")
    (path,) = published(remote, "clusters")
    spoil(remote, path, payload_changed(path, change))
    repo = joined()
    run = git_ctx(repo.path, "fetch", "--json-output")
    assert [one["key"] for one in run.json["remote"]["refused"]] == [key_of(path)]
    assert f"cluster {key_of(path)} from origin was refused" in run.err
    assert run.json["clusters"] == 1
    # Whoever has better ones puts it right.
    assert done(project.path, "push")["clusters"] == 1
    assert done(repo.path, "fetch")["remote"]["refused"] == []


def test_numbers_that_are_none_are_refused(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    configure(project, service, precision="f32")
    done(project.path, "push")
    (path,) = published(remote, "clusters")
    spoil(remote, path, payload_changed(path, lambda data: data[:-4] + b"\xff\xff\xff\x7f"))
    (bad,) = done(joined(precision="f32").path, "fetch")["remote"]["refused"]
    assert "not finite" in bad["reason"]


def test_of_two_that_verify_the_lower_digest_stays(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    """Two machines with slightly different vectors push one file: one of the two clusters stays."""
    done(project.path, "push")
    (path,) = published(remote, "clusters")
    shown = ["git", "show", f"{REF}:{path}"]
    first = subprocess.run(shown, cwd=remote, capture_output=True, check=True).stdout
    spoil(remote, path, payload_changed(path, lambda data: data[:-1] + bytes([data[-1] ^ 1])))
    second = subprocess.run(shown, cwd=remote, capture_output=True, check=True).stdout
    repo = joined()
    done(repo.path, "fetch")
    done(project.path, "push")
    done(repo.path, "push")
    stays = subprocess.run(shown, cwd=remote, capture_output=True, check=True).stdout
    by_digest = sorted((first, second), key=lambda data: sha256(decode_object(key_of(path), data)).digest())
    assert stays == by_digest[0]


def test_verify_asks_the_model_for_a_sample(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    """Well-formed vectors of other texts are detected only by the model, with --sample."""
    done(project.path, "push")
    repo = joined()
    done(repo.path, "fetch")
    assert done(repo.path, "verify")["remote"] is None
    assert len(documents(service)) == 8
    report = done(repo.path, "verify", "--sample", "5")["remote"]
    assert (report["verified"], report["differing"]) == (1, [])
    assert len(documents(service)) == 16
    (path,) = published(remote, "clusters")
    spoil(
        remote, path, payload_changed(path, lambda data: data[:-8] + bytes(byte ^ 255 for byte in data[-8:]))
    )
    late = joined("late")
    done(late.path, "fetch")
    run = git_ctx(late.path, "verify", "--sample", "5", "--json-output")
    assert (run.status, run.json["remote"]["differing"]) == (1, [key_of(path)])


def test_compaction_keeps_the_vectors_of_kept_snapshots(
    project: Repo, service: Service, remote: Path, joined: Callable[..., Repo]
) -> None:
    done(project.path, "push")
    project.commit({"src/session.py": source("session", 3)})
    project.git("push", "--quiet", "origin", "HEAD:main")
    done(project.path, "push")
    report = done(project.path, "push", "--compact", "--keep-branches", "--grace", "now")
    assert (report["kept"], report["dropped"], report["strange"]) == (2, 2, [])
    sent = len(documents(service))
    repo = joined()
    assert done(repo.path, "fetch")["remote"]["lacking"] == 0
    assert results(repo.path)[1] == ["bag-of-words"]
    assert len(documents(service)) == sent


def test_compaction_counts_the_newest_commits_not_the_snapshots_of_each_model(
    remote: Path, project: Repo, service: Service
) -> None:
    configure(project, service)
    done(project.path, "push")
    project.commit({"src/new.py": source("new", 2)})
    done(project.path, "push")
    dropped = done(project.path, "push", "--compact", "--keep-last", "2", "--grace", "now")
    assert (dropped["kept"], dropped["dropped"]) == (4, 0)
    dropped = done(project.path, "push", "--compact", "--keep-last", "1", "--grace", "now")
    assert (dropped["kept"], dropped["dropped"]) == (2, 2)
