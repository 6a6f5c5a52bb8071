"""Searches with `ctx.fit`: messages about files count, are named in the answer and kept up to date."""

from __future__ import annotations

import os
from typing import Any

import pytest
from repositories import Repo
from ways import program

import ctx
from ctx.agents.mcp.project import Project
from ctx.pack.manifest import decode, encode
from ctx.ranking.correction import fit_path, load
from ctx.ranking.file_history import history_of
from ctx.search.evidence.wording import explanation_in_words
from ctx.storage.arrays import encode as encode_arrays

QUESTION = "throttle uploads of impatient customers"
_BODY = "def {name}(stream, limit):\n    return stream.read(limit)\n"


@pytest.fixture
def readers(repo: Repo) -> Repo:
    """Files that differ only in their names."""
    names = ("alpha", "bravo", "delta", "gamma", "omega")
    repo.commit({f"src/{name}.py": _BODY.format(name=name) for name in names}, "add the readers of streams")
    return repo


def ranked(repo: Repo, **options: Any) -> tuple[list[str], tuple[str, ...]]:
    with ctx.open(repo.path) as index:
        answer = index.search("throttle the uploads of a stream", **options)
        return [hit.path for hit in answer.hits], answer.ranked_with


def name(repo: Repo) -> tuple[str, ...]:
    return (f"past {repo.id().hex()[:12]}",)


def test_messages_count_only_if_enabled(readers: Repo) -> None:
    last = ranked(readers)[0][-1]
    readers.commit({last: (readers.path / os.fsdecode(last)).read_text() + "\n"}, QUESTION)
    plain, nothing = ranked(readers)
    assert plain[0] != last
    assert nothing == ()
    readers.git("config", "ctx.fit", "true")
    fitted, named = ranked(readers)
    # From the last place to one of the first two: the names of the files have vectors too.
    assert fitted.index(last) <= 1
    assert (sorted(fitted), named) == (sorted(plain), name(readers))
    readers.git("config", "ctx.fit", "false")
    assert ranked(readers) == (plain, ())


def test_all_operations_that_rank_by_history_report_it(readers: Repo) -> None:
    last = ranked(readers)[0][-1]
    readers.commit({last: (readers.path / os.fsdecode(last)).read_text() + "\nLIMIT = 5\n"}, QUESTION)
    readers.git("config", "ctx.fit", "true")
    with ctx.open(readers.path) as index:
        differing = index.search(QUESTION, within="HEAD~1..HEAD")
        explanation = index.explain(os.fsdecode(last), QUESTION)
        made = index.pack(QUESTION).pack
        by_file = index.search_files(QUESTION).about
    for say in (differing, explanation.about, by_file, made, decode(encode(made))):
        assert say.ranked_with == name(readers)
    assert explanation_in_words(explanation, b"").endswith(f"; ranked with {name(readers)[0]}")
    readers.git("config", "ctx.fit", "false")
    with ctx.open(readers.path) as index:
        plain = index.search(QUESTION, within="HEAD~1..HEAD")
        assert (plain.ranked_with, index.pack(QUESTION).pack.ranked_with) == ((), ())
        assert index.pack(QUESTION).pack.slug != made.slug, "one is not taken for the other"
    assert plain.hits[0].path == differing.hits[0].path == last
    assert plain.hits[0].score < differing.hits[0].score, "the message said just that"


def test_the_tools_for_agents_report_it_too(readers: Repo) -> None:
    """Always in their values, and in their text if the history cannot be read."""
    path = os.fsdecode(ranked(readers)[0][-1])
    readers.commit({path: (readers.path / path).read_text() + "\nLIMIT = 5\n"}, QUESTION)
    calls: list[tuple[str, dict[str, str]]] = [
        ("code_search", {"text": QUESTION}),
        ("code_search", {"text": QUESTION, "changedIn": "HEAD~1"}),
        ("explain", {"task": QUESTION, "path": path}),
        ("pack", {"task": QUESTION}),
        ("read_pack", {"slug": "latest"}),
    ]
    project = Project(str(readers.path))
    try:
        for tool, given in calls:
            assert project.call(tool, given).values["rankedWith"] == []
        readers.git("config", "ctx.fit", "true")
        for tool, given in calls:
            assert project.call(tool, given).values["rankedWith"] == list(name(readers)), tool
        for tool, given in calls[:3]:
            assert f"ranked with {name(readers)[0]}" in project.call(tool, given).text
        place = {"place": f"{path}:1"}
        assert project.call("find_related", place).values["rankedWith"] == [], "similarity ignores history"
    finally:
        project.close()


def test_an_index_run_extends_the_history(readers: Repo) -> None:
    readers.git("config", "ctx.fit", "true")
    before = name(readers)
    assert ranked(readers)[1] == before
    readers.commit({"src/alpha.py": _BODY.format(name="alpha") + "\n\n"}, "alpha reads less")
    assert ranked(readers)[1] == before, "a search does not read the history again"
    with ctx.open(readers.path) as index:
        assert index.search(QUESTION).ranked_with == before
        index.index()
        assert index.search(QUESTION).ranked_with == name(readers), "an index that is open sees it too"
    assert ranked(readers)[1] == name(readers)


def test_a_file_with_learned_weights_is_ignored_and_replaced(readers: Repo) -> None:
    """Such files were written by `git ctx evaluate --fit` up to 0.1.0."""
    readers.git("config", "ctx.fit", "true")
    expected = ranked(readers)
    with ctx.open(readers.path) as index:
        path = fit_path(index.session.store.path)
        past = history_of(index.repository, readers.id())
        arrays = {**past._asdict(), "folder": past.path, "folder_changed": past.changed}
        meta = {
            "format": 2,
            "features": ["changed", "folder changed", "said of it", "test", "document"],
            "weights": [-9.0, 1.0, -9.0, 3.0, 4.0],
            "commit": readers.id(),
            "tasks": 40,
            "ranker": 1,
        }
        index.session.store.write_file(path, encode_arrays(arrays, meta))
    assert load(path) is None
    assert program("fsck", cwd=readers.path).status == 0
    assert ranked(readers) == expected
    made = load(path)
    assert made is not None
    assert made.commit == readers.id()


@pytest.mark.parametrize("state", ["damaged", "a directory"])
def test_an_unusable_correction_is_rebuilt(readers: Repo, state: str) -> None:
    readers.git("config", "ctx.fit", "true")
    ranked(readers)
    with ctx.open(readers.path) as index:
        path = fit_path(index.session.store.path)
    if state == "a directory":
        (readers.path / ".git/ctx/fit").unlink()
        (readers.path / ".git/ctx/fit").mkdir()
    else:
        data = bytearray((readers.path / ".git/ctx/fit").read_bytes())
        data[len(data) // 2] ^= 1
        (readers.path / ".git/ctx/fit").write_bytes(data)
    assert ranked(readers)[1] == name(readers)
    made = load(path)
    assert (made is None) is (state == "a directory")


def test_file_names_with_the_separators_of_the_log(readers: Repo) -> None:
    readers.commit(
        {b"src/odd\x01\x02name.py": "x = 1\n", b"src/\xff.py": "y = 2\n"}, "odd \x01 names \x02 here"
    )
    readers.git("config", "ctx.fit", "true")
    found, ranked_with = ranked(readers)
    assert len(found) > 4
    assert ranked_with == name(readers)


def test_the_history_has_paths_from_the_root_for_any_configuration(readers: Repo) -> None:
    last = ranked(readers)[0][-1]
    readers.commit({last: (readers.path / os.fsdecode(last)).read_text() + "\n"}, QUESTION)
    readers.git("config", "ctx.fit", "true")
    readers.git("config", "diff.relative", "true")
    with ctx.open(readers.path / "src") as index:
        best = [hit.path for hit in index.search("throttle the uploads of a stream").hits[:2]]
        assert last in best


def test_a_branch_without_a_commit_has_no_history(readers: Repo) -> None:
    main = readers.id().hex()
    readers.git("config", "ctx.fit", "true")
    readers.git("checkout", "--quiet", "--orphan", "fresh")
    found, ranked_with = ranked(readers, revision=main)
    assert found
    assert ranked_with == ()
