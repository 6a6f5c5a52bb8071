"""Compactions: kept snapshots, foreign data, and lost races."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import Repo
from teams import REF, clone, done, git, published, replace, snapshots, tree

import ctx
from ctx.share import layout
from ctx.share.layout import encode_shared
from ctx.share.push import PushOptions, push


def test_compaction_keeps_the_named_snapshots(ada: Repo, bob: Repo, remote: Path) -> None:
    """Other snapshots and their clusters are dropped with the history; an old clone brings nothing back."""
    first = tree(ada)
    done(ada.path, "push")
    done(bob.path, "push")
    for number in range(3):
        ada.commit({"src/f1.py": f"def renewed():\n    return {number}\n"})
        done(ada.path, "push")
    before = published(remote)
    assert done(ada.path, "push", "--compact", "--keep-last", "1")["dropped"] == 0  # all are young
    report = done(ada.path, "push", "--compact", "--keep-branches", "--keep-last", "1", "--grace", "now")
    # `main` of the remote is still at the first commit.
    assert (report["kept"], report["dropped"], report["clusters"]) == (2, 2, 2)
    after = published(remote)
    assert after.items() <= before.items()
    assert git(remote, "rev-list", "--count", REF) == "1"
    assert "Epoch: 1" in git(remote, "log", "-1", "--format=%B", REF)
    bob.commit({"docs/f1.py": "def described():\n    return 1\n"})
    assert done(bob.path, "push")["snapshots"] == 1
    kept = {path for path in published(remote) if "/trees/" in path}
    assert kept == {path for path in after if "/trees/" in path} | {
        path for path in published(remote) if path.endswith(tree(bob)[2:]) and "/trees/" in path
    }
    assert first[2:] in {path.split("/")[-1] for path in kept}
    fresh = clone(remote, remote.with_name("fresh"))
    assert done(fresh.path, "fetch")["lacking"] == 0


def race(remote: Path, before: str, theirs: str) -> None:
    """Show the previous ref until the next push to it has started."""
    hook = remote / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nif test -e {remote}/race; then rm {remote}/race; git update-ref {REF} {theirs}; fi\n"
    )
    hook.chmod(0o755)
    git(remote, "update-ref", REF, before)
    (remote / "race").touch()


def test_compaction_and_push_lose_a_race_and_try_again(ada: Repo, bob: Repo, remote: Path) -> None:
    """The result includes a faster push: the ref moves while a push to it is in progress."""
    for number in range(2):
        ada.commit({"src/f1.py": f"def renewed():\n    return {number}\n"})
        done(ada.path, "push", "--with-words")
    before = git(remote, "rev-parse", REF)
    ada.git("push", "--quiet", "origin", "HEAD")
    bob.commit({"docs/f1.py": "def described():\n    return 1\n"})
    bob.git("push", "--quiet", "origin", "HEAD:refs/heads/bob")
    done(bob.path, "push", "--with-words")
    theirs = git(remote, "rev-parse", REF)
    race(remote, before, theirs)
    report = done(ada.path, "push", "--compact", "--keep-branches", "--grace", "now")
    assert not (remote / "race").exists()
    assert (report["kept"], report["dropped"]) == (2, 1)
    assert snapshots(remote) == {tree(ada), tree(bob)}
    assert git(remote, "rev-list", "--count", REF) == "1"
    ada.commit({"src/f1.py": "def renewed():\n    return 7\n"})
    race(remote, before, theirs)
    report = done(ada.path, "push", "--with-words")
    assert (report["snapshots"], report["attempts"]) == (1, 2)
    assert {tree(ada), tree(bob)} <= snapshots(remote)
    fresh = clone(remote, remote.with_name("fresh"))
    fresh.git("fetch", "--quiet", str(bob.path), "HEAD")
    report = done(fresh.path, "fetch", "--revision", tree(bob))
    assert (report["lacking"], report["words"]["refused"]) == (0, [])


def test_replacements_are_packed_once(ada: Repo, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacements for damaged clusters and words are computed once, also if a race is lost."""
    done(ada.path, "push", "--with-words")
    spoilt = [
        next(path for path in published(remote) if path.startswith(area)) for area in ("clusters/", "words/")
    ]
    for path in spoilt:
        replace(remote, path, b"not what it was")
    before = git(remote, "rev-parse", REF)
    replace(remote, "notes-of-somebody", b"to be read by people")
    packed: list[bytes | None] = []

    def pack(key: bytes, payload: bytes) -> bytes:
        packed.append(key)
        return encode_shared(key, payload)

    monkeypatch.setattr(layout, "encode_shared", pack)
    monkeypatch.setattr("ctx.share.push.wait_after", lambda _: packed.append(None))
    race(remote, before, git(remote, "rev-parse", REF))
    with ctx.open(ada.path) as index:
        report = push(index.session, None, PushOptions(words=True))
    assert (report.clusters, report.words, report.attempts) == (1, 1, 2)
    assert packed[-1] is None, "all was packed before the race was lost"
    assert len(packed) == 1 + 2 * len(spoilt), "once to be compared, once to be sent"


def test_compaction_keeps_unreadable_data(ada: Repo, remote: Path) -> None:
    """Another program's snapshots and the notes of people stay."""
    done(ada.path, "push")
    replace(remote, "clusters/CODE_BLOCKS-other-8-bit-1/ab/cd", b"theirs")
    replace(remote, "notes-of-ours", b"a note")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    done(ada.path, "push")
    report = done(ada.path, "push", "--compact", "--keep-last", "1", "--grace", "now")
    assert (report["dropped"], report["strange"]) == (1, ["CODE_BLOCKS-other-8-bit-1"])
    assert {"clusters/CODE_BLOCKS-other-8-bit-1/ab/cd", "notes-of-ours"} <= published(remote).keys()
