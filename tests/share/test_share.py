"""Pushing and fetching: transferred data, and unchanged repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard
from repositories import Repo
from teams import (
    REF,
    answers,
    clone,
    done,
    files,
    finish,
    git,
    git_ctx,
    published,
    snapshots,
    source,
    start,
    tree,
)

import ctx


def without_time(found: list[Any]) -> list[Any]:
    """Answers without the time that they took."""
    return [{key: value for key, value in answer.items() if "econds" not in key} for answer in found]


def unpacked(data: bytes) -> bytes:
    """Return the bytes of a file, and the content of its zstd frame, if there is one."""
    start = data.find(b"\x28\xb5\x2f\xfd")
    return data if start < 0 else data + zstandard.ZstdDecompressor().decompressobj().decompress(data[start:])


def test_a_fresh_clone_answers_offline_without_embedding(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """The answer is that of the machine that pushed, and the ref contains no source text."""
    report = done(ada.path, "push")
    assert report["snapshots"] == 1
    assert report["clusters"] > 3
    everything = b"".join(
        Path(root, name).read_bytes()
        for root, _, names in os.walk(ada.path / ".git/ctx/objects")
        for name in names
    )
    assert b"of a user" not in everything
    fresh = clone(remote, tmp_path / "fresh")
    assert done(fresh.path, "fetch") == {
        "type": "fetch_result",
        "remoteName": "origin",
        "published": True,
        "whole": False,
        "clusters": report["clusters"],
        "bytes": pytest.approx(report["bytes"], rel=0.5),
        "lacking": 0,
        "refused": [],
        "words": None,
        "remote": None,
    }
    remote.rename(tmp_path / "gone.git")
    status = done(fresh.path, "status")
    assert status["storage"] == "shared"
    assert [one["trigger"] for one in status["snapshots"][0]["provenance"]] == ["fetch"]
    run = git_ctx(fresh.path, "index", "--json-output")
    assert run.json == {"type": "skipped", "reason": "ALREADY_INDEXED"}
    assert without_time(answers(fresh.path)) == without_time(answers(ada.path))
    objects = [
        {
            file.relative_to(path): file.read_bytes()
            for file in (path / ".git/ctx/objects").rglob("*")
            if file.is_file()
        }
        for path in (ada.path, fresh.path)
    ]
    assert objects[0] == objects[1]


def test_published_clear_text_is_as_security_md_states(ada: Repo, remote: Path) -> None:
    """Paths, definitions, headings, keys and test titles are published; bodies and comments are not."""
    ada.commit(
        {
            "src/plaintextpath.py": "def plaintextfunction():\n  # hiddencomment\n  return 'hiddenliteral'\n",
            "notes.md": "# plaintextheading\n\nThe hiddenprose of a document.\n",
            "settings.toml": "[plaintextsection]\nkey = 'hiddenvalue'\n",
            "web/cart.test.js": "test('plaintexttitle', () => { expect('hiddenexpected').toBe(1) })\n",
            "spec/cart_spec.rb": "it 'plaintextspec' do\n  expect('hiddenruby').to eq 1\nend\n",
            "web/cart.css": ".plaintextselector { content: 'hiddencontent' }\n",
            "data.json": '{"plaintextkey": {"a": "hiddendatum"}}\n',
        },
        "hiddensubject",
    )
    done(ada.path, "push", "--with-words")
    done(ada.path, "history", "hiddensubject")
    stored = [
        file.read_bytes()
        for file in (ada.path / ".git/ctx").rglob("*")
        if file.is_file() and "share.git" not in file.parts
    ]
    sent = [
        subprocess.run(["git", "cat-file", "blob", oid], cwd=remote, capture_output=True, check=True).stdout
        for oid in published(remote).values()
    ]
    for place in (stored, sent):
        everything = b"\0".join(map(unpacked, place))
        clear = ("path", "function", "heading", "section", "title", "spec", "selector", "key")
        assert [word for word in clear if b"plaintext" + word.encode() not in everything] == []
        assert b"hidden" not in everything


def test_fetched_documents_are_reused_for_the_next_tree(ada: Repo, bob: Repo) -> None:
    """Only the changed file is embedded, even if the fetched tree was never searched."""
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    ada.git("push", "--quiet", "origin", "HEAD")
    done(ada.path, "push")
    done(bob.path, "fetch")
    bob.git("pull", "--quiet", "--ff-only")
    bob.commit({"src/f2.py": "def once_more():\n    return 2\n"})
    done(bob.path, "fetch")
    with ctx.open(bob.path) as index:
        report = index.index()
    assert report.processed_new_clusters
    assert report.embedded_chunks == 1


def test_nothing_of_the_users_changes(ada: Repo, bob: Repo) -> None:
    """Configuration, refs, objects and later fetches are as if nothing had been shared."""

    def everything(repo: Repo) -> dict[str, bytes]:
        top = repo.path / ".git"
        return {
            str(file.relative_to(top)): file.read_bytes()
            for file in top.rglob("*")
            if file.is_file() and file.relative_to(top).parts[0] != "ctx"
        }

    before = everything(ada), everything(bob)
    assert git_ctx(ada.path, "push").status == 0
    assert git_ctx(bob.path, "fetch").status == 0
    assert git_ctx(bob.path, "push").status == 0
    assert (everything(ada), everything(bob)) == before
    bob.git("fetch", "--quiet")
    assert REF.encode() not in bob.git("for-each-ref")
    assert bob.git("status", "--porcelain") == b""


def test_the_first_push_lists_its_contents(ada: Repo, bob: Repo) -> None:
    """Once for each clone, before anything is sent, also if it has fetched before."""
    assert "in clear" in git_ctx(ada.path, "push").err
    done(bob.path, "fetch")
    bob.commit({"src/own.py": source("own", 1)})
    assert "in clear" in git_ctx(bob.path, "push").err
    ada.commit({"src/more.py": source("more", 1)})
    again = git_ctx(ada.path, "push")
    assert (again.status, again.err) == (0, "")
    assert git_ctx(ada.path, "push").out == "origin already has all of it\n"


def test_messages_name_the_remote(ada: Repo, bob: Repo, remote: Path, tmp_path: Path) -> None:
    """By its name, or by its address without user and password."""
    ada.git("remote", "rename", "origin", "team")
    assert "the index is published on team: paths" in git_ctx(ada.path, "push", "team").err
    assert git_ctx(ada.path, "push", "team").out == "team already has all of it\n"
    assert " from origin" in git_ctx(bob.path, "fetch").out
    assert git_ctx(bob.path, "fetch").out == "nothing to fetch from origin: all clusters are here\n"
    found = git_ctx(ada.path, "push", "team", "--compact", "--keep-last", "1")
    assert found.out == "dropped 0 of 1 snapshot and 0 clusters from team\n"
    carl = clone(remote, tmp_path / "carl")
    assert "\nfetched " in git_ctx(carl.path, "init", "--fetch").out
    git(remote, "update-ref", "-d", REF)
    assert "\norigin has no published index\n" in git_ctx(carl.path, "init", "--fetch").out
    for command in ("push", "fetch"):
        assert done(bob.path, command)["remoteName"] == "origin"
        run = git_ctx(bob.path, command, "http://user:password@127.0.0.1:9/x.git")
        assert run.status == 128
        assert "'http://127.0.0.1:9/x.git'" in run.err
        assert "password" not in run.err


def test_only_missing_objects_are_pushed(ada: Repo, remote: Path) -> None:
    """One more commit adds its cluster, the nodes above it, its snapshot and its note, as a fast-forward."""
    done(ada.path, "push")
    before, tip = published(remote), git(remote, "rev-parse", REF)
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    report = done(ada.path, "push")
    after = published(remote)
    assert before.items() <= after.items()
    kinds = sorted(path.split("/")[0] for path in after.keys() - before.keys())
    assert kinds == sorted(["clusters", "snapshots", "snapshots", "snapshots", tree(ada)[:2]])
    assert report["clusters"] == 1
    assert git(remote, "rev-parse", f"{REF}^") == tip


def test_people_read_a_note_at_the_tree(ada: Repo, bob: Repo) -> None:
    """`git notes` finds them if the ref was fetched by hand; our own refs do not interfere."""
    done(ada.path, "push")
    bob.git("fetch", "--quiet", "origin", f"{REF}:{REF}")
    said = bob.git("notes", "--ref=ctx", "show", tree(bob)).decode()
    assert "git ctx fetch" in said
    assert "CODE_BLOCKS-wordtable" in said
    assert len(bob.git("notes", "--ref=ctx", "list").splitlines()) == 1


def test_notes_of_others_under_the_ref_stay(ada: Repo, bob: Repo, remote: Path) -> None:
    """A ref made by another program is extended."""
    ada.git("notes", "--ref=ctx", "add", "-m", "by hand", "HEAD")
    ada.git("push", "--quiet", "origin", REF)
    before = published(remote)
    assert done(bob.path, "fetch")["clusters"] == 0
    assert done(bob.path, "push")["snapshots"] == 1
    assert before.items() <= published(remote).items()
    git(remote, "notes", "--ref=ctx", "show", "HEAD")


def test_branches_tags_and_revisions_are_chosen(ada: Repo, remote: Path) -> None:
    """HEAD by default, or the named revisions."""
    first = tree(ada)
    ada.git("tag", "-a", "v1", "-m", "one")
    ada.branch("other")
    ada.commit({"src/more.py": source("more", 1)})
    second = tree(ada)
    ada.commit({"src/more.py": source("more", 2)})
    third = tree(ada)
    done(ada.path, "push", "--revision", "HEAD~1")
    assert snapshots(remote) == {second}
    done(ada.path, "push", "--tags")
    assert snapshots(remote) == {first, second}
    done(ada.path, "push", "origin", "--all")
    assert snapshots(remote) == {first, second, third}


def test_unpublished_clusters_are_made_here(ada: Repo, bob: Repo) -> None:
    """A partially published tree is fetched in part, and the rest is embedded."""
    done(ada.path, "push")
    bob.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    report = done(bob.path, "fetch")
    assert report["clusters"] > 0
    assert report["lacking"] == 1
    assert done(bob.path, "index")["processedNewClusters"] == 1


def test_a_part_of_the_tree_takes_a_part_of_the_clusters(ada: Repo, bob: Repo) -> None:
    """Objects that the selected files do not need are not fetched."""
    everything = done(ada.path, "push")
    report = done(bob.path, "fetch", "-p", "src")
    assert 0 < report["clusters"] < everything["clusters"]
    share = bob.path / ".git/ctx/share.git"
    kinds = git(share, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert kinds.count("blob") == report["clusters"]


def test_a_sparse_checkout_takes_its_part(ada: Repo, bob: Repo) -> None:
    """The cone selects the files."""
    everything = done(ada.path, "push")
    bob.git("sparse-checkout", "set", "--cone", "lib")
    assert 0 < done(bob.path, "fetch", "--sparse")["clusters"] < everything["clusters"]


def test_a_server_that_filters_nothing_gives_everything(ada: Repo, bob: Repo, remote: Path) -> None:
    """The whole tip is fetched, and the answer is the same."""
    git(remote, "config", "uploadpack.allowFilter", "false")
    everything = done(ada.path, "push")
    run = git_ctx(bob.path, "fetch", "-p", "src", "--json-output")
    assert 0 < run.json["clusters"] < everything["clusters"]
    assert run.json["whole"]
    assert "origin can send its index only as a whole" in run.err


@pytest.mark.parametrize("git_format", ["sha1", "sha256"])
def test_object_formats(make_repo: Any, tmp_path: Path, git_format: str) -> None:
    """Ids of 32 bytes work like those of 20."""
    seed = make_repo("first", f"--object-format={git_format}")
    seed.commit(files("src"))
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(tmp_path / "r.git"))
    one, two = clone(tmp_path / "r.git", tmp_path / "one"), clone(tmp_path / "r.git", tmp_path / "two")
    pushed = done(one.path, "push")
    assert done(two.path, "fetch")["clusters"] == pushed["clusters"]


def test_many_who_push_at_once_all_land(remote: Path, tmp_path: Path) -> None:
    """Concurrent pushes of several clones: no data is lost and no error is shown."""
    people = []
    for name in ("one", "two", "three", "four"):
        repo = clone(remote, tmp_path / name)
        repo.commit({f"{name}/own.py": source(name, 3)})
        assert git_ctx(repo.path, "index").status == 0
        people.append(repo)
    runs = [finish(one) for one in [start(repo.path, "push") for repo in people]]
    assert [run.status for run in runs] == [0] * 4, runs
    assert snapshots(remote) == {tree(repo) for repo in people}


def test_search_fetches_where_that_is_allowed(ada: Repo, bob: Repo, remote: Path) -> None:
    """`ctx.autoFetch` and `ctx.storage=shared` allow it, `ctx.storage=local` forbids it."""
    done(ada.path, "push")
    share = bob.path / ".git/ctx/share.git"
    bob.git("config", "ctx.autoFetch", "true")
    bob.git("config", "ctx.storage", "local")
    assert git_ctx(bob.path, "search", "renew the session").status == 0
    assert not share.exists()
    git_ctx(bob.path, "remove-index", "--yes")
    bob.git("config", "ctx.storage", "auto")
    assert git_ctx(bob.path, "search", "renew the session").status == 0
    assert share.exists()
    status = done(bob.path, "status")
    assert status["storage"] == "shared"
    git_ctx(bob.path, "remove-index", "--yes")
    bob.git("config", "--unset", "ctx.autoFetch")
    bob.git("config", "ctx.storage", "shared")
    report = done(bob.path, "index")
    assert (report["embeddedChunks"], report["storage"]) == (0, "shared")
    bob.git("config", "ctx.storage", "everywhere")
    run = git_ctx(bob.path, "status")
    assert run.status == 129
    assert "auto, local or shared" in run.err


def test_a_remote_that_is_away_does_not_stop_a_search(bob: Repo, remote: Path) -> None:
    """The answer uses local data and reports the failed fetch."""
    bob.git("config", "ctx.autoFetch", "true")
    remote.rename(remote.with_name("gone.git"))
    answer = done(bob.path, "search", "renew the session")
    assert answer["results"]
    assert "shared index" in answer["message"]


def test_init_can_fetch(ada: Repo, bob: Repo) -> None:
    """The first snapshot of a fresh clone costs no embedding."""
    done(ada.path, "push")
    run = git_ctx(bob.path, "init", "--fetch")
    assert run.status == 0
    assert " 0 chunks embedded" in run.out


def test_the_published_index_is_removed(ada: Repo, remote: Path) -> None:
    """On the remote, and its traces here; the local index stays."""
    done(ada.path, "push")
    assert done(ada.path, "remove-index", "--remote", "origin")["removed"] is True
    assert published(remote) == {}
    assert done(ada.path, "remove-index", "--remote", "origin")["removed"] is False
    assert done(ada.path, "push")["snapshots"] == 1


def test_settings_of_the_repository_are_used(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """An address that the repository rewrites is rewritten here too; the user's own hooks do not run."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-push").chmod(0o755)
    ada.git("config", "core.hooksPath", str(hooks))
    ada.git("config", f"url.{remote.parent}/.insteadOf", "team:")
    ada.git("remote", "set-url", "origin", f"team:{remote.name}")
    assert done(ada.path, "push")["snapshots"] == 1


def test_verify_rebuilds_clusters(ada: Repo, bob: Repo) -> None:
    """Fetched clusters equal rebuilt ones, bit for bit."""
    done(ada.path, "push")
    done(bob.path, "fetch")
    report = done(bob.path, "verify", "--sample", "3", "--seed", "5")
    assert (report["verified"], report["differing"], report["seed"]) == (3, [], 5)
    assert done(bob.path, "verify")["verified"] > 3
