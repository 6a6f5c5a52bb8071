"""Data from a remote is not trusted."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zstandard
from repositories import Repo
from teams import REF, answers, clone, done, git_ctx, published, replace

from ctx.storage.store import decode_object, encode_object


def clusters(remote: Path) -> list[str]:
    """The paths of the published clusters."""
    return sorted(path for path in published(remote) if path.startswith("clusters/"))


def content(remote: Path, path: str) -> bytes:
    """Return the published bytes at a path."""
    found = subprocess.run(["git", "show", f"{REF}:{path}"], cwd=remote, capture_output=True, check=True)
    return found.stdout


def name(path: str) -> str:
    """The key in a path, in hexadecimal."""
    return "".join(path.split("/")[-2:])


def bomb(mine: str, data: bytes) -> bytes:
    """Return a few bytes that claim to decompress to more than the limit."""
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
    """The rest is used, and the answer is that of a local index."""
    pushed = done(ada.path, "push")
    path = clusters(remote)[1]
    replace(remote, path, spoil(name(path), content(remote, path)))
    run = git_ctx(bob.path, "fetch", "--json-output")
    assert run.status == 0
    assert [one["key"] for one in run.json["refused"]] == [name(path)]
    assert run.json["clusters"] == pushed["clusters"] - 1
    assert f"cluster {name(path)} from origin was refused" in run.err
    report = done(bob.path, "index")
    assert report["processedNewClusters"] == 1
    drop = ("elapsed", "seconds")
    mine, theirs = (
        [{k: v for k, v in one.items() if k not in drop} for one in answers(at.path)] for at in (ada, bob)
    )
    assert [one["results"] for one in mine] == [one["results"] for one in theirs]


def test_refused_clusters_are_reported(ada: Repo, bob: Repo, remote: Path, tmp_path: Path) -> None:
    """By a search, by indexing and by `init --fetch`, which fetch implicitly."""
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
    assert f"cluster {name(bad)} from origin was refused" in run.err
    assert f"the words of cluster {name(words)} from origin were refused" in run.err


def test_swapped_clusters_are_refused(ada: Repo, bob: Repo, remote: Path) -> None:
    """A valid cluster under the name of another one."""
    done(ada.path, "push")
    one, two, *_ = clusters(remote)
    replace(remote, one, content(remote, two))
    assert [bad["key"] for bad in done(bob.path, "fetch")["refused"]] == [name(one)]


def test_well_formed_lies_are_found_by_verify(ada: Repo, bob: Repo, remote: Path) -> None:
    """A cluster with other vectors passes every check of its form; only rebuilding detects it."""
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
        assert (run.status, run.out) == (0, "origin already has all of it\n")
    assert published(remote) == before
    assert (ada.path / ".git/ctx/share.git/agreed").read_text().split()
    fresh = clone(remote, remote.with_name("fresh"))
    report = done(fresh.path, "fetch")
    assert (report["refused"], report["words"]["refused"]) == ([], [])


def test_two_descriptors_share_a_ref(ada: Repo, bob: Repo, remote: Path) -> None:
    """Data published by an older or newer version stays, and is not used."""
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


def forged(change: Callable[[list[Any]], object]) -> Callable[[str, bytes], bytes]:
    """A cluster under its own key in whose first record fields are changed."""

    def spoil(mine: str, data: bytes) -> bytes:
        cluster = msgpack.unpackb(decode_object(mine, data))
        fields = list(msgpack.unpackb(cluster[2][0], unicode_errors="surrogatepass"))
        change(fields)
        cluster[2][0] = msgpack.packb(fields, unicode_errors="surrogatepass")
        return encode_object(mine, msgpack.packb(cluster))

    return spoil


GAPS, NAMES = 2, 8
"""Fields of a record."""


def put(field: int, value: object, place: int | None = None) -> Callable[[list[Any]], object]:
    def change(fields: list[Any]) -> None:
        if place is None:
            fields[field] = value
        else:
            fields[field][place] = value

    return change


FORGED = {"names that are maps": put(NAMES, [{"a": 1}]), "a start before the blob": put(GAPS, -3, 0)}


@pytest.mark.parametrize("name_of", FORGED)
def test_a_forged_record_is_refused(forge: Repo, remote: Path, name_of: str) -> None:
    """A fetch names the refused cluster, and a search with ctx.autoFetch is right."""
    (path,) = [
        one for one in clusters(remote) if b"renew_session" in decode_object(name(one), content(remote, one))
    ]
    replace(remote, path, forged(FORGED[name_of])(name(path), content(remote, path)))
    run = git_ctx(forge.path, "fetch", "--json-output")
    assert run.status == 0, run.err
    assert [one["key"] for one in run.json["refused"]] == [name(path)]
    forge.git("config", "ctx.autoFetch", "true")
    found = done(forge.path, "search", "renew the session")
    assert f"cluster {name(path)}" in found["message"]
    first = found["results"][0]
    assert first["result"]["sourcePosition"]["relativePath"] == "one.py"
    assert first["content"].startswith("def renew_session")
    assert (first["contentStartLine"], first["contentEndLine"]) == (1, 2)


@pytest.fixture
def forge(ada: Repo, remote: Path, tmp_path: Path) -> Repo:
    """A clone of a project of one file, whose index is published."""
    for path in ada.git("ls-files").decode().splitlines():
        ada.write({path: None})
    ada.commit({"one.py": "def renew_session(user):\n    return user\n"})
    ada.git("push", "--quiet", "origin", "HEAD")
    done(ada.path, "push")
    return clone(remote, tmp_path / "forge")


def test_a_ref_that_lists_itself_without_end_is_refused(ada: Repo, bob: Repo, remote: Path) -> None:
    """Ten levels of ten equal subtrees beside the published files."""
    done(ada.path, "push")
    blob = subprocess.run(
        ["git", "rev-parse", f"{REF}:{clusters(remote)[0]}"], cwd=remote, capture_output=True
    )
    tree = b"".join(b"100644 blob %s\tf%d\n" % (blob.stdout.strip(), number) for number in range(10))
    for _ in range(10):
        made = subprocess.run(["git", "mktree"], input=tree, cwd=remote, capture_output=True, check=True)
        tree = b"".join(b"040000 tree %s\td%d\n" % (made.stdout.strip(), number) for number in range(10))
    made = subprocess.run(["git", "mktree"], input=tree, cwd=remote, capture_output=True, check=True)
    tip = Repo(remote).git("commit-tree", "-m", "bomb", made.stdout.strip())
    Repo(remote).git("update-ref", REF, tip)
    run = git_ctx(bob.path, "fetch")
    assert run.status == 128
    assert "more than 1,000,000 files" in run.err
    assert "Traceback" not in run.err
    bob.git("config", "ctx.autoFetch", "true")
    found = done(bob.path, "search", "renew the session")
    assert "more than 1,000,000 files" in found["message"]
    assert found["results"]
    assert git_ctx(ada.path, "push", "--force").status in (128, 129)


@pytest.mark.parametrize("broken", ["a lock that is a directory", "no server"])
def test_an_automatic_fetch_never_ends_a_search(ada: Repo, bob: Repo, tmp_path: Path, broken: str) -> None:
    """Any error is reported in one line."""
    done(ada.path, "push")
    bob.git("config", "ctx.autoFetch", "true")
    store = Path(bob.git("rev-parse", "--absolute-git-dir").decode()) / "ctx"
    store.mkdir()
    if broken != "no server":
        (store / "share.git.lock").mkdir()
    else:
        bob.git("config", "remote.origin.uploadpack", "/nowhere/upload-pack")
    found = done(bob.path, "search", "renew the session")
    assert found["results"]
    assert "\n" not in found["message"]
    assert "shared index" in found["message"]
