"""Failing pushes and fetches: a clear message, no lost data, and the next one succeeds."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

from repositories import Repo
from teams import answers, clone, done, git, git_ctx, published, start


def test_problems_of_a_remote_are_reported(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """No such remote, nothing there, no permission, a server that refuses; the local index stays as it is."""
    assert git_ctx(ada.path, "index").status == 0
    for arguments, status, words in (
        (("push", "nobody"), 129, "there is no remote 'nobody' (known: origin)"),
        (("push", "--", "-x"), 129, "no remote '-x'"),
        (("fetch", str(tmp_path / "nowhere.git")), 128, "does not appear to be a git repository"),
        (("push", "--compact"), 129, "say what --compact shall keep"),
        (("push", "--keep-tags"), 129, "go with --compact"),
        (("push", "--revision", "nope"), 128, "'nope' names no commit"),
    ):
        run = git_ctx(ada.path, *arguments)
        assert run.status == status, (arguments, run)
        assert words in run.err, (arguments, run)
        assert len(run.err.splitlines()) <= 4
    hook = remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'notes are not wanted here' >&2\nexit 1\n")
    hook.chmod(0o755)
    run = git_ctx(ada.path, "push")
    assert run.status == 128
    assert "pre-receive hook declined" in run.err
    assert "notes are not wanted here" in run.err
    hook.unlink()
    assert git_ctx(ada.path, "push").status == 0
    ada.git("remote", "remove", "origin")
    run = git_ctx(ada.path, "fetch")
    assert (run.status, "no remote" in run.err) == (129, True)


def test_a_script_can_tell_that_nothing_is_published(ada: Repo, bob: Repo) -> None:
    run = git_ctx(bob.path, "fetch")
    assert (run.status, run.out, run.err) == (1, "origin has no published index\n", "")
    run = git_ctx(bob.path, "fetch", "--json-output")
    assert (run.status, run.json["published"]) == (1, False)
    assert git_ctx(bob.path, "fetch", "--silent") == (1, "", "")
    done(ada.path, "push")
    assert git_ctx(bob.path, "fetch").status == 0
    assert git_ctx(bob.path, "fetch").status == 0, "nothing is lacking"


def test_a_script_can_tell_that_nothing_was_checked(ada: Repo, remote: Path, tmp_path: Path) -> None:
    done(ada.path, "push")
    bare = clone(remote.as_uri(), tmp_path / "bare", "--filter=blob:none", "--no-checkout")
    done(bare.path, "fetch")
    run = git_ctx(bare.path, "verify")
    assert run.status == 1
    assert run.out.startswith("0 clusters rebuilt, 0 differ; the files of ")


def test_status_warns_of_a_remote_that_a_push_mirrors(ada: Repo, remote: Path) -> None:
    """A mirroring push deletes refs that are missing here, including the published index."""
    done(ada.path, "push")
    assert done(ada.path, "status")["message"] is None
    ada.git("config", "remote.origin.mirror", "true")
    said = done(ada.path, "status")["message"]
    assert "`git push origin`" in said
    assert f"note     {said}" in git_ctx(ada.path, "status").out
    # What it says is so, and what it names brings the index back.
    ada.git("push", "--quiet", "origin")
    assert published(remote) == {}
    assert "`git ctx push origin`" in said
    done(ada.path, "push", "origin")
    assert published(remote)
    ada.git("config", "remote.origin.mirror", "false")
    assert done(ada.path, "status")["message"] is None


def test_a_damaged_transport_repository_is_recreated(ada: Repo, remote: Path) -> None:
    """Everything in it can be fetched or made again."""
    done(ada.path, "push")
    share = ada.path / ".git/ctx/share.git"
    (share / "HEAD").write_bytes(b"\0\0")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    assert done(ada.path, "push")["clusters"] == 1


def packs(repository: Path) -> list[Path]:
    """Return the packs of a repository, made writable."""
    found = list((repository / "objects/pack").glob("*.pack"))
    for pack in found:
        pack.chmod(0o644)
    return found


def test_packs_that_are_cut_short(ada: Repo, bob: Repo, remote: Path) -> None:
    """On the remote: a short message and no change here. In the transport repository: it is recreated."""
    done(ada.path, "push", "--with-words")
    git(remote, "repack", "-a", "-d", "-f", "-q")
    assert git_ctx(bob.path, "index").status == 0
    before = answers(bob.path)[0]["results"]
    (pack,) = packs(remote)
    whole = pack.read_bytes()
    pack.write_bytes(whole[:-3000])
    run = git_ctx(bob.path, "fetch")
    assert run.status == 128
    assert len(run.err) < 2000
    assert "origin" in run.err
    assert answers(bob.path)[0]["results"] == before
    pack.write_bytes(whole)
    assert done(bob.path, "fetch")["lacking"] == 0
    share = ada.path / ".git/ctx/share.git"
    git(share, "repack", "-a", "-d", "-q")
    for pack in packs(share):
        pack.write_bytes(pack.read_bytes()[:-100])
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    assert done(ada.path, "push", "--with-words")["clusters"] == 1


def test_a_damaged_object_of_ours_is_got_again(ada: Repo, bob: Repo, remote: Path) -> None:
    """The command fails with a message, and succeeds when it is run again."""
    done(ada.path, "push", "--with-words")
    fetched = done(bob.path, "fetch")
    share = bob.path / ".git/ctx/share.git"
    for area in ("objects", "snapshots", "views", "documents"):
        shutil.rmtree(bob.path / ".git/ctx" / area)
    for pack in packs(share):
        listed = git(share, "verify-pack", "-v", str(pack.with_suffix(".idx"))).splitlines()
        data = bytearray(pack.read_bytes())
        for line in listed:
            if " blob " in line:
                size, offset = map(int, line.split()[3:5])
                data[offset + size // 2] ^= 0xFF
        pack.write_bytes(data)
    run = git_ctx(bob.path, "fetch")
    assert run.status == 128
    assert "run the command again" in run.err
    report = done(bob.path, "fetch")
    assert (report["clusters"], report["refused"]) == (fetched["clusters"], [])


def test_a_push_that_is_killed_is_taken_up_again(ada: Repo, bob: Repo, remote: Path) -> None:
    """At any point; the next push succeeds, and the published index is complete."""
    assert git_ctx(ada.path, "index").status == 0
    for wait in (0.3, 0.6, 0.9):
        process = start(ada.path, "push", "--with-words", start_new_session=True)
        time.sleep(wait)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert git_ctx(ada.path, "push", "--with-words").status == 0
    report = done(bob.path, "fetch")
    assert (report["lacking"], report["refused"], report["words"]["refused"]) == (0, [], [])
    assert git_ctx(ada.path, "fsck").status == 0


def test_limits_of_a_server_are_reported(ada: Repo, remote: Path) -> None:
    """A limit on the size of a push, and a ref that is hidden."""
    git(remote, "config", "receive.maxInputSize", "1k")
    run = git_ctx(ada.path, "push")
    assert (run.status, "exceeds maximum allowed size" in run.err) == (128, True)
    git(remote, "config", "--unset", "receive.maxInputSize")
    git(remote, "config", "transfer.hideRefs", "refs/notes")
    run = git_ctx(ada.path, "push")
    assert (run.status, "hidden ref" in run.err) == (128, True)
    git(remote, "config", "--unset", "transfer.hideRefs")
    assert git_ctx(ada.path, "push").status == 0


def test_our_repository_does_not_grow_for_ever(ada: Repo, remote: Path) -> None:
    """The objects of hundreds of pushes and fetches are removed; published and local data stays."""
    done(ada.path, "push")
    before = published(remote)
    objects = ada.path / ".git/ctx/share.git/objects"
    (objects / "17").mkdir(exist_ok=True)
    for number in range(70):
        (objects / "17" / f"{number:038x}").write_bytes(b"")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    assert done(ada.path, "push")["clusters"] == 1
    assert len(list((objects / "17").glob("*"))) < 60
    assert before.items() <= published(remote).items()
