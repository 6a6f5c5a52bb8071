"""What comes from a remote is not trusted, and what a remote refuses is said in words."""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from repositories import Repo
from teams import REF, answers, clone, done, git, git_ctx, published, replace, snapshots, start, tree

from ctx.store import decode_object, encode_object


def clusters(remote: Path) -> list[str]:
    """The paths of the published clusters."""
    return sorted(path for path in published(remote) if path.startswith("clusters/"))


def content(remote: Path, path: str) -> bytes:
    """What is published under a path."""
    found = subprocess.run(["git", "show", f"{REF}:{path}"], cwd=remote, capture_output=True, check=True)
    return found.stdout


def name(path: str) -> str:
    """The key in a path, in hexadecimal."""
    return "".join(path.split("/")[-2:])


def bomb(mine: str, data: bytes) -> bytes:
    """A few bytes that say that they unpack to more than there is room for."""
    packed = zstandard.ZstdCompressor().compress(bytes(60 << 20))
    return data[:5] + b"\x01" + data[6:8] + struct.pack("<I", 60 << 20) + data[12:28] + packed


def another_descriptor(mine: str, data: bytes) -> bytes:
    """A cluster of another model under our key."""
    return encode_object(mine, decode_object(mine, data).replace(b"wordtable", b"wordtablf"))


def other_paths(mine: str, data: bytes) -> bytes:
    """A well-formed object that describes other files."""
    return encode_object(mine, decode_object(mine, data).replace(b".py", b".pz"))


def no_value(mine: str, data: bytes) -> bytes:
    """An object whose payload is no cluster."""
    return encode_object(mine, b"\xc1" * 300)


HOSTILE: list[Callable[[str, bytes], bytes]] = [
    lambda mine, data: b"",
    lambda mine, data: data[:-7],
    lambda mine, data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    lambda mine, data: bytes(9 << 20),
    bomb,
    another_descriptor,
    other_paths,
    no_value,
]


@pytest.mark.parametrize("spoil", HOSTILE, ids=[str(i) for i in range(len(HOSTILE))])
def test_a_bad_cluster_is_refused_by_name(
    ada: Repo, bob: Repo, remote: Path, spoil: Callable[[str, bytes], bytes]
) -> None:
    """The rest is used, and the answer is that of what is made here."""
    pushed = done(ada.path, "push")
    path = clusters(remote)[1]
    replace(remote, path, spoil(name(path), content(remote, path)))
    run = git_ctx(bob.path, "fetch", "--json-output")
    assert run.status == 0
    assert [one["key"] for one in run.json["refused"]] == [name(path)]
    assert run.json["clusters"] == pushed["clusters"] - 1
    assert f"cluster {name(path)} was refused" in run.err
    report = done(bob.path, "index")
    assert report["processedNewClusters"] == 1
    drop = ("elapsed", "seconds")
    mine, theirs = (
        [{k: v for k, v in one.items() if k not in drop} for one in answers(at.path)] for at in (ada, bob)
    )
    assert [one["results"] for one in mine] == [one["results"] for one in theirs]


def test_what_is_refused_on_the_way_is_told(ada: Repo, bob: Repo, remote: Path, tmp_path: Path) -> None:
    """By a search, by indexing and by `init --fetch`, which nobody has to ask for a fetch by its name."""
    done(ada.path, "push", "--with-words")
    bad = clusters(remote)[1]
    replace(remote, bad, content(remote, bad)[:-7])
    words = next(path for path in published(remote) if path.startswith("words/") and name(path) != name(bad))
    replace(remote, words, content(remote, words)[:-7])
    bob.git("config", "ctx.autoFetch", "true")
    message = done(bob.path, "search", "renew the session")["message"]
    assert "refused" in message
    assert name(bad) in message
    assert name(words) in message
    carl, dora = clone(remote, tmp_path / "carl"), clone(remote, tmp_path / "dora")
    carl.git("config", "ctx.storage", "shared")
    assert f"cluster {name(bad)}" in git_ctx(carl.path, "index").err
    run = git_ctx(dora.path, "init", "--fetch")
    assert f"cluster {name(bad)} was refused" in run.err
    assert f"the words of cluster {name(words)} were refused" in run.err


def test_swapped_clusters_are_refused(ada: Repo, bob: Repo, remote: Path) -> None:
    """A sound cluster under the name of another one."""
    done(ada.path, "push")
    one, two, *_ = clusters(remote)
    replace(remote, one, content(remote, two))
    assert [bad["key"] for bad in done(bob.path, "fetch")["refused"]] == [name(one)]


def test_well_formed_lies_are_found_by_verify(ada: Repo, bob: Repo, remote: Path) -> None:
    """A cluster with other vectors passes every check of its form; making it anew does not."""
    done(ada.path, "push")
    path = clusters(remote)[0]
    payload = decode_object(name(path), content(remote, path))
    replace(
        remote, path, encode_object(name(path), payload[:-4] + bytes(byte ^ 255 for byte in payload[-4:]))
    )
    assert done(bob.path, "fetch")["refused"] == []
    run = git_ctx(bob.path, "verify", "--json-output")
    assert (run.status, run.json["differing"]) == (1, [name(path)])


def test_a_push_puts_a_bad_cluster_right(ada: Repo, bob: Repo, remote: Path) -> None:
    """Of two under one key the one that verifies stays."""
    done(ada.path, "push")
    path = clusters(remote)[0]
    good = content(remote, path)
    replace(remote, path, good[:-1])
    assert done(ada.path, "push")["clusters"] == 1
    assert content(remote, path) == good


def test_other_bytes_of_the_same_payload_are_as_good(ada: Repo, bob: Repo, remote: Path) -> None:
    """Another version of zstd, or a program that compressed less, is not overruled."""
    done(ada.path, "push", "--with-words")
    paths = [path for path in published(remote) if path.startswith(("clusters/", "words/"))]
    for path in paths[::3]:
        payload = decode_object(name(path), content(remote, path))
        other = encode_object(name(path), payload, level=1)
        assert other != content(remote, path)
        replace(remote, path, other)
    before = published(remote)
    for repo in (ada, bob):
        assert git_ctx(repo.path, "index").status == 0
        run = git_ctx(repo.path, "push", "--with-words")
        assert (run.status, run.out) == (0, "the remote has all of it already\n")
    assert published(remote) == before
    assert (ada.path / ".git/ctx/share.git/agreed").read_text().split()
    fresh = clone(remote, remote.with_name("fresh"))
    report = done(fresh.path, "fetch")
    assert (report["refused"], report["words"]["refused"]) == ([], [])


def test_two_descriptors_share_a_ref(ada: Repo, bob: Repo, remote: Path) -> None:
    """What an older or newer program has published stays, and is not taken for ours."""
    other = "CODE_BLOCKS-other-2560-bit-6"
    done(ada.path, "push")
    foreign = {
        path.replace(path.split("/")[1], other): b"theirs"
        for path in published(remote)
        if path.count("/") > 2
    }
    for path, data in list(foreign.items())[:3]:
        replace(remote, path, data)
    assert done(bob.path, "fetch")["refused"] == []
    bob.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    done(bob.path, "push")
    assert {path for path in published(remote) if other in path} == set(list(foreign)[:3])


def test_what_is_wrong_with_a_remote_is_said(ada: Repo, remote: Path, tmp_path: Path) -> None:
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


def test_a_damaged_repository_of_ours_is_made_anew(ada: Repo, remote: Path) -> None:
    """Nothing in it cannot be had again."""
    done(ada.path, "push")
    share = ada.path / ".git/ctx/share.git"
    (share / "HEAD").write_bytes(b"\0\0")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    assert done(ada.path, "push")["clusters"] == 1


def packs(repository: Path) -> list[Path]:
    """The packs of a repository, which may be written."""
    found = list((repository / "objects/pack").glob("*.pack"))
    for pack in found:
        pack.chmod(0o644)
    return found


def test_packs_that_are_cut_short(ada: Repo, bob: Repo, remote: Path) -> None:
    """On the remote: few words, and nothing changes here. In ours: it is begun anew."""
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
    """The command fails, says so, and succeeds when it is run again."""
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
    """Wherever it was, the next one lands, and what is there is whole."""
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


def test_a_server_that_takes_less_says_so(ada: Repo, remote: Path) -> None:
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
    """What hundreds of pushes and fetches leave is thrown away; what is published and local stays."""
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


def test_only_signed_indexes_are_taken_where_that_is_required(ada: Repo, bob: Repo, tmp_path: Path) -> None:
    """With git's own signing set-up, on both sides."""
    key = tmp_path / "key"
    made = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], capture_output=True
    )
    if made.returncode:
        pytest.skip("ssh-keygen cannot make a key here")
    (tmp_path / "trusted").write_text(f"ada@example.org {(key.with_suffix('.pub')).read_text()}")
    for repo in (ada, bob):
        repo.git("config", "gpg.format", "ssh")
        repo.git("config", "gpg.ssh.allowedSignersFile", str(tmp_path / "trusted"))
    bob.git("config", "ctx.requireSigned", "true")
    done(ada.path, "push")
    run = git_ctx(bob.path, "fetch")
    assert run.status == 128
    assert "not signed" in run.err
    ada.git("config", "user.signingKey", str(key))
    ada.git("config", "commit.gpgSign", "true")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    done(ada.path, "push")
    assert done(bob.path, "fetch")["clusters"] > 3


def test_compaction_keeps_what_is_named(ada: Repo, bob: Repo, remote: Path) -> None:
    """The rest goes with its clusters, in a commit without history; an old clone brings nothing back."""
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


def test_compaction_and_push_lose_a_race_and_try_again(ada: Repo, bob: Repo, remote: Path) -> None:
    """Whoever was quicker is united with: here the ref moves while a push to it is under way."""
    for number in range(2):
        ada.commit({"src/f1.py": f"def renewed():\n    return {number}\n"})
        done(ada.path, "push", "--with-words")
    before = git(remote, "rev-parse", REF)
    ada.git("push", "--quiet", "origin", "HEAD")
    bob.commit({"docs/f1.py": "def described():\n    return 1\n"})
    bob.git("push", "--quiet", "origin", "HEAD:refs/heads/bob")
    done(bob.path, "push", "--with-words")
    theirs = git(remote, "rev-parse", REF)
    hook = remote / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nif test -e {remote}/race; then rm {remote}/race; git update-ref {REF} {theirs}; fi\n"
    )
    hook.chmod(0o755)

    def race() -> None:
        git(remote, "update-ref", REF, before)
        (remote / "race").touch()

    race()
    report = done(ada.path, "push", "--compact", "--keep-branches", "--grace", "now")
    assert not (remote / "race").exists()
    assert (report["kept"], report["dropped"]) == (2, 1)
    assert snapshots(remote) == {tree(ada), tree(bob)}
    assert git(remote, "rev-list", "--count", REF) == "1"
    ada.commit({"src/f1.py": "def renewed():\n    return 7\n"})
    race()
    report = done(ada.path, "push", "--with-words")
    assert (report["snapshots"], report["attempts"]) == (1, 2)
    assert {tree(ada), tree(bob)} <= snapshots(remote)
    fresh = clone(remote, remote.with_name("fresh"))
    fresh.git("fetch", "--quiet", str(bob.path), "HEAD")
    report = done(fresh.path, "fetch", "--revision", tree(bob))
    assert (report["lacking"], report["words"]["refused"]) == (0, [])


def test_compaction_leaves_what_it_cannot_read(ada: Repo, remote: Path) -> None:
    """Another program's snapshots and the notes of people stay."""
    done(ada.path, "push")
    replace(remote, "clusters/CODE_BLOCKS-other-8-bit-1/ab/cd", b"theirs")
    replace(remote, "notes-of-ours", b"a note")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    done(ada.path, "push")
    report = done(ada.path, "push", "--compact", "--keep-last", "1", "--grace", "now")
    assert (report["dropped"], report["strange"]) == (1, ["CODE_BLOCKS-other-8-bit-1"])
    assert {"clusters/CODE_BLOCKS-other-8-bit-1/ab/cd", "notes-of-ours"} <= published(remote).keys()
