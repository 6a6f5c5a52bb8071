"""Words are published on request only, refused if they do not fit, and change no answer."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from repositories import Repo
from teams import REF, answers, clone, done, files, git, git_ctx, published, replace, source, tree

import ctx
from ctx import text as words
from ctx.errors import Damaged
from ctx.share.layers import layers_of
from ctx.storage.clusters import document_key
from ctx.storage.store import decode_object, encode_object


def paths(remote: Path, area: str = "words") -> list[str]:
    """Return the published paths in an area."""
    return sorted(path for path in published(remote) if path.startswith(f"{area}/"))


def name(path: str) -> str:
    """The key in a path, in hexadecimal."""
    return "".join(path.split("/")[-2:])


def content(remote: Path, path: str) -> bytes:
    """Return the published bytes at a path."""
    found = subprocess.run(["git", "show", f"{REF}:{path}"], cwd=remote, capture_output=True, check=True)
    return found.stdout


def results(path: Path, *arguments: str) -> list[Any]:
    """Return the results with scores, without values that vary between runs."""
    return [answer["results"] for answer in answers(path, *arguments)]


def scores(path: Path) -> list[Any]:
    """Return locations and scores of hits, without their texts."""
    return [
        [(hit["citation"], hit["symbol"], hit["agreement"], hit["result"]) for hit in found]
        for found in results(path, "--revision", "HEAD")
    ]


def test_words_go_along_only_if_asked_for(ada: Repo, remote: Path) -> None:
    """The notice names the words; a later push without them neither removes nor adds any."""
    first = git_ctx(ada.path, "push")
    assert "words of each chunk" not in first.err
    assert paths(remote) == []
    second = git_ctx(ada.path, "push", "--with-words")
    assert "words of each chunk" in second.err
    assert {name(path) for path in paths(remote)} == {name(path) for path in paths(remote, "clusters")}
    assert git_ctx(ada.path, "push", "--with-words").out == "origin already has all of it\n"
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    before = paths(remote)
    assert done(ada.path, "push")["words"] == 0
    assert paths(remote) == before
    again = git_ctx(ada.path, "push", "--with-words", "--json-output")
    assert (again.json["snapshots"], again.json["words"], again.err) == (0, 1, "")
    assert git_ctx(ada.path, "push", "--compact", "--with-words", "--keep-tags").status == 129


def test_the_first_push_with_words_announces_them(ada: Repo) -> None:
    """In one sentence, with the risk of hashes."""
    run = git_ctx(ada.path, "push", "--with-words")
    assert len(run.err.splitlines()) == 1
    assert "as hashes" in run.err
    assert "a list of words can reverse" in run.err


def test_words_that_were_fetched_give_the_answer_of_those_that_were_counted(
    ada: Repo, bob: Repo, remote: Path, tmp_path: Path
) -> None:
    """Bit for bit, and without blobs to count."""
    pushed = done(ada.path, "push", "--with-words")
    assert pushed["words"] == pushed["clusters"]
    report = done(bob.path, "fetch")
    assert (report["words"]["clusters"], report["words"]["refused"]) == (pushed["words"], [])
    assert results(bob.path) == results(ada.path)
    bare = clone(remote.as_uri(), tmp_path / "bare", "--filter=blob:none", "--no-checkout")
    done(bare.path, "fetch")
    assert scores(bare.path) == scores(ada.path)
    blobs = bare.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert b"blob" not in blobs


def test_documents_counted_here_are_not_fetched_again(ada: Repo, bob: Repo) -> None:
    """A fetch after one more commit adds only the rows of the changed file."""
    done(ada.path, "push", "--with-words")
    done(bob.path, "fetch")
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    ada.git("push", "--quiet", "origin", "HEAD")
    done(ada.path, "push", "--with-words")
    bob.git("pull", "--quiet", "--ff-only")
    assert done(bob.path, "fetch")["words"]["clusters"] == 1
    assert results(bob.path) == results(ada.path)
    with ctx.open(bob.path) as index:
        view = index.session.catalog.view(bytes.fromhex(tree(bob)))
        assert view is not None
        assert sorted(one.documents for one in view.segments) == [1, 60]


def test_a_part_of_the_tree_takes_the_words_of_that_part(ada: Repo, bob: Repo) -> None:
    """One file of words for each cluster, and nothing else."""
    done(ada.path, "push", "--with-words")
    report = done(bob.path, "fetch", "-p", "src")
    assert report["words"]["clusters"] == report["clusters"] > 0
    share = bob.path / ".git/ctx/share.git"
    kinds = git(share, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert kinds.count("blob") == 2 * report["clusters"]
    assert results(bob.path) == results(ada.path)


def with_field(place: int, change: Callable[[bytes], bytes]) -> Callable[[str, bytes], bytes]:
    """Words with one field of their payload changed."""

    def spoil(mine: str, data: bytes) -> bytes:
        fields = msgpack.unpackb(decode_object(mine, data))
        fields[place] = change(fields[place])
        return encode_object(mine, msgpack.packb(fields))

    return spoil


HOSTILE: dict[str, Callable[[str, bytes], bytes]] = {
    "empty": lambda mine, data: b"",
    "cut short": lambda mine, data: data[:-7],
    "a flipped bit": lambda mine, data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    "too large": lambda mine, data: bytes(9 << 20),
    "a bomb": lambda mine, data: encode_object(mine, bytes(40 << 20)),
    "no value": lambda mine, data: encode_object(mine, b"\xc1" * 300),
    "a number": lambda mine, data: encode_object(mine, msgpack.packb([1, 2, 3, 4, 5])),
    "another version": with_field(0, lambda group: group[:-1] + "9"),
    "other chunks": with_field(1, lambda lengths: lengths[:-2]),
    "half a term": with_field(2, lambda gaps: gaps[:-1]),
    "a term too high": with_field(2, lambda gaps: b"\xff" * len(gaps)),
    "a term twice": with_field(2, lambda gaps: bytes(len(gaps))),
    "fewer terms": with_field(3, lambda counts: counts[:-1]),
    "no rows for a term": with_field(3, lambda counts: b"\0" + counts[1:]),
    "endless numbers": with_field(3, lambda counts: b"\xff" * len(counts)),
    "another form of a number": with_field(3, lambda counts: bytes([counts[0] | 0x80, 0]) + counts[1:]),
    "a row that is not there": with_field(4, lambda values: b"\xff\x7f" + values[2:]),
    "numbers beyond bounds": with_field(4, lambda values: b"\xff" * 20 + b"\x01" + values),
    "more rows": with_field(4, lambda values: values + b"\0"),
}


def test_words_that_do_not_fit_are_refused(ada: Repo, remote: Path) -> None:
    """For every field of the words, and of their file."""
    done(ada.path, "push", "--with-words")
    path = paths(remote)[1]
    good = content(remote, path)
    with ctx.open(ada.path) as index:
        layer, *_ = layers_of(index.session)
        key = bytes.fromhex(name(path))
        assert layer.checked_words(key, good)
        for what, spoil in HOSTILE.items():
            try:
                layer.checked_words(key, spoil(name(path), good))
            except Damaged:
                continue
            pytest.fail(f"{what} was let through")


def test_bad_words_are_refused_by_name(ada: Repo, bob: Repo, remote: Path) -> None:
    """Their cluster is fetched, the words are counted here, and the answer is unchanged."""
    done(ada.path, "push", "--with-words")
    bad = dict(zip(paths(remote), ("cut short", "a bomb", "another version"), strict=False))
    for path, what in bad.items():
        replace(remote, path, HOSTILE[what](name(path), content(remote, path)))
    run = git_ctx(bob.path, "fetch", "--json-output")
    assert run.status == 0
    assert (run.json["refused"], run.json["lacking"]) == ([], 0)
    assert {one["key"] for one in run.json["words"]["refused"]} == set(map(name, bad))
    assert all(f"the words of cluster {name(path)} from origin were refused" in run.err for path in bad)
    assert results(bob.path) == results(ada.path)
    assert done(bob.path, "verify")["differingWords"] == []
    # Whoever pushes next puts them right.
    assert done(ada.path, "push", "--with-words")["words"] == len(bad)
    assert done(clone(remote, bob.path.with_name("carl")).path, "fetch")["words"]["refused"] == []


def test_words_of_another_cluster_are_refused(ada: Repo, bob: Repo, remote: Path) -> None:
    """Valid words under the name of another cluster; a cluster in place of words."""
    done(ada.path, "push", "--with-words")
    one, two, three, *_ = paths(remote)
    replace(remote, one, content(remote, two))
    replace(
        remote, three, content(remote, f"clusters/{paths(remote, 'clusters')[0].split('/')[1]}/{three[-41:]}")
    )
    refused = done(bob.path, "fetch")["words"]["refused"]
    assert {bad["key"] for bad in refused} == {name(one), name(three)}


def lie(remote: Path) -> str:
    """Publish words with a doubled chunk length; return their path."""
    path = paths(remote)[0]

    def longer(lengths: bytes) -> bytes:
        return (2 * np.frombuffer(lengths, dtype="<u2")).astype("<u2").tobytes()

    replace(remote, path, with_field(1, longer)(name(path), content(remote, path)))
    return path


def test_lies_about_words_are_found_by_verify(ada: Repo, bob: Repo, remote: Path) -> None:
    """They pass every check of their form; only recounting detects them."""
    done(ada.path, "push", "--with-words")
    path = lie(remote)
    assert done(bob.path, "fetch")["words"]["refused"] == []
    run = git_ctx(bob.path, "verify", "--json-output")
    assert (run.status, run.json["differing"], run.json["differingWords"]) == (1, [], [name(path)])
    assert f"the words of cluster {name(path)}" in git_ctx(bob.path, "verify").out
    git_ctx(bob.path, "remove-index", "--yes")
    assert git_ctx(bob.path, "index").status == 0
    assert done(bob.path, "verify")["differingWords"] == []
    assert results(bob.path) == results(ada.path)


@pytest.mark.parametrize("length", [b"\0\0", b"\xff\xff"], ids=["no words", "no end of words"])
def test_absurd_words_are_survived(ada: Repo, bob: Repo, remote: Path, length: bytes) -> None:
    """Chunks without words or with maximum lengths: the answer is still one of the tree."""
    done(ada.path, "push", "--with-words")
    for path in paths(remote):
        fields = msgpack.unpackb(decode_object(name(path), content(remote, path)))
        absurd = [fields[0], length * (len(fields[1]) // 2), b"", b"", b""]
        replace(remote, path, encode_object(name(path), msgpack.packb(absurd)))
    assert done(bob.path, "fetch")["words"]["refused"] == []
    for query in ("renew the session of a user", "parse_header_3", "zzzqqq"):
        run = git_ctx(bob.path, "search", query, "--json-output")
        assert run.status in (0, 1), run
        assert run.err == ""
    assert git_ctx(bob.path, "pack", "--task", "renew the session").status == 0
    assert git_ctx(bob.path, "related", "src/f1.py:1").status in (0, 1)
    assert git_ctx(bob.path, "verify").status == 1


def test_who_has_the_files_puts_lies_right(ada: Repo, bob: Repo, remote: Path) -> None:
    """Of two different ones the correct words stay, even if the forged ones are stored here."""
    done(ada.path, "push", "--with-words")
    path = paths(remote)[0]
    good = content(remote, path)
    assert lie(remote) == path
    done(bob.path, "fetch")
    replace(remote, path, good)
    assert done(bob.path, "push", "--with-words")["words"] == 0
    assert content(remote, path) == good
    lie(remote)
    assert done(ada.path, "push", "--with-words")["words"] == 1
    assert content(remote, path) == good


def test_words_of_another_version_are_left_alone(ada: Repo, bob: Repo, remote: Path) -> None:
    """They are not used, and stay as long as their clusters."""
    done(ada.path, "push", "--with-words")
    kept = paths(remote)
    other = [path.replace(f"-w{words.VERSION}/", f"-w{words.VERSION + 1}/") for path in kept]
    for path in other[:2]:
        replace(remote, path, b"theirs")
    report = done(bob.path, "fetch")
    assert (report["words"]["clusters"], report["words"]["refused"]) == (len(kept), [])
    done(bob.path, "push", "--with-words")
    assert set(paths(remote)) == {*kept, *other[:2]}


def test_compaction_drops_words_with_their_clusters(ada: Repo, remote: Path) -> None:
    """Of all versions; words of unknown programs and of kept clusters stay."""
    done(ada.path, "push", "--with-words")
    gone = next(path for path in paths(remote) if name(path) not in _after_a_change(ada))
    newer = gone.replace(f"-w{words.VERSION}/", f"-w{words.VERSION + 1}/")
    replace(remote, newer, b"theirs")
    foreign = "CODE_BLOCKS-other-8-bit-1"
    replace(remote, f"clusters/{foreign}/ab/cd", b"theirs")
    replace(remote, f"words/{foreign}-w2/ab/cd", b"theirs")
    replace(remote, "words/of-ours", b"a text")
    done(ada.path, "push", "--with-words")
    done(ada.path, "push", "--compact", "--keep-last", "1", "--grace", "now")
    left = paths(remote)
    assert gone not in left
    assert newer not in left
    assert {f"words/{foreign}-w2/ab/cd", "words/of-ours"} <= set(left)
    ours = [path for path in left if f"-w{words.VERSION}/" in path and foreign not in path]
    clusters = [path for path in paths(remote, "clusters") if foreign not in path]
    assert {name(path) for path in ours} == {name(path) for path in clusters}


def _after_a_change(ada: Repo) -> set[str]:
    """Commit once more; return the keys of its clusters."""
    ada.commit({"src/f1.py": "def renewed():\n    return 1\n"})
    with ctx.open(ada.path) as index:
        root = index.session.indexer.trees.root(index.resolve().tree)
        return {cluster.key.hex() for cluster in root.clusters()}


def test_all_kinds_of_texts(make_repo: Callable[..., Repo], tmp_path: Path) -> None:
    """Letters beyond ASCII, UTF-16, one blob in two clusters, a file without a name, one of many chunks."""
    seed = make_repo("kinds")
    many = "\n".join(f"def f{i}(session):\n    return session.token_{i}\n" for i in range(400))
    seed.commit(
        {
            **files("src", "lib"),
            "src/wide.txt": "Die Übergröße prüft den Schlüssel\r\n".encode("utf-16"),
            "src/kanji.md": "# 検索エンジン\n\n全文検索の索引\n",
            "lib/copy.py": source("src", 3),
            "src/many.py": many,
            "src/data.bin": b"\0\1\2",
        }
    )
    seed.git("clone", "--quiet", "--bare", str(seed.path), str(tmp_path / "kinds.git"))
    pushed = done(seed.path, "push", str(tmp_path / "kinds.git"), "--with-words")
    assert pushed["words"]
    other = clone(tmp_path / "kinds.git", tmp_path / "other")
    assert done(other.path, "fetch")["words"]["refused"] == []
    assert results(other.path) == results(seed.path)
    assert done(other.path, "verify")["differingWords"] == []
    with ctx.open(other.path) as index:
        view = index.session.catalog.view(bytes.fromhex(tree(other)))
        assert view is not None
        found = [one.key(place) for one in view.segments for place in range(one.documents)]
        root = index.session.indexer.trees.root(index.resolve().tree)
        wanted = {
            document_key(member)
            for cluster in root.clusters()
            for member in cluster.members
            if member.path != b"src/data.bin"
        }
        assert sorted(found) == sorted(wanted)


def test_clusters_without_words_and_files(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """A partial clone without words reports the limitation and the command that removes it."""
    done(ada.path, "push")
    bare = clone(remote.as_uri(), tmp_path / "bare", "--filter=blob:none", "--no-checkout")
    assert git_ctx(bare.path, "fetch").status == 0
    run = git_ctx(bare.path, "search", "renew the session", "--revision", "HEAD", "--json-output")
    assert (run.status, run.json["coverage"]["withoutWords"]) == (0, 60)
    assert "60 files of this tree are not in this clone" in run.json["message"]
    assert "`git ctx index --fetch" in run.json["message"]
    pushed = git_ctx(bare.path, "push", "--with-words", "--json-output")
    assert (pushed.status, pushed.json["words"], paths(remote)) == (0, 0, [])
    assert {*pushed.json["wordless"]} == {name(path) for path in paths(remote, "clusters")}
    assert "were left out" in git_ctx(bare.path, "push", "--with-words").err
    assert git_ctx(bare.path, "index", "--fetch").status == 0
    assert scores(bare.path) == scores(ada.path)


def test_words_that_the_remote_has_are_not_missed(ada: Repo, remote: Path, tmp_path: Path) -> None:
    done(ada.path, "push")
    bare = clone(remote.as_uri(), tmp_path / "bare", "--filter=blob:none", "--no-checkout")
    done(bare.path, "fetch")
    done(ada.path, "push", "--with-words")
    pushed = git_ctx(bare.path, "push", "--with-words", "--json-output")
    assert (pushed.status, pushed.err) == (0, ""), pushed
    assert pushed.json["wordless"] == []


def test_a_partial_clone_with_path_rules(ada: Repo, remote: Path, tmp_path: Path) -> None:
    """Path rules determine the clusters, so a fetch brings their files and no others."""
    rules = {"src/.ctxignore": "f1.py\n", ".gitattributes": "lib/deep/f2.py linguist-generated\n"}
    ada.commit(rules)
    ada.git("push", "--quiet", "origin", "HEAD")
    done(ada.path, "push", "--with-words")
    bare = clone(remote.as_uri(), tmp_path / "bare", "--filter=blob:none", "--no-checkout")
    report = done(bare.path, "fetch")
    assert (report["lacking"], report["refused"]) == (0, [])
    assert scores(bare.path) == scores(ada.path)
    kinds = bare.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split()
    assert kinds.count(b"blob") == len(rules)
    shown = git_ctx(bare.path, "search", "renew the session", "--revision", "HEAD").out
    command = re.findall(r"`git (cat-file -p [0-9a-f]+)` fetches it", shown)[0]
    assert b"def " in bare.git(*command.split())
