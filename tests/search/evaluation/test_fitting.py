"""Searches with `ctx.fit`: what messages said of files counts, named in the answer and kept up to date."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from repositories import Repo

import ctx
from ctx.agents.mcp.project import Project
from ctx.pack.manifest import decode, encode
from ctx.ranking.correction import USUAL, Correction, fit_path, load
from ctx.ranking.file_history import FEATURES, CommitHistory
from ctx.search.evidence.wording import explanation_in_words

QUESTION = "throttle uploads of impatient customers"
_BODY = "def {name}(stream, limit):\n    return stream.read(limit)\n"


@pytest.fixture
def told(repo: Repo) -> Repo:
    """Files that are alike but for their names."""
    names = ("alpha", "bravo", "delta", "gamma", "omega")
    repo.commit({f"src/{name}.py": _BODY.format(name=name) for name in names}, "add the readers of streams")
    return repo


def ranked(repo: Repo, **options: Any) -> tuple[list[str], tuple[str, ...]]:
    with ctx.open(repo.path) as index:
        answer = index.search("throttle the uploads of a stream", **options)
        return [hit.path for hit in answer.hits], answer.ranked_with


def name(repo: Repo, kind: str = "past") -> tuple[str, ...]:
    return (f"{kind} {repo.id().hex()[:12]}",)


def test_what_messages_said_counts_where_it_is_wanted(told: Repo) -> None:
    last = ranked(told)[0][-1]
    told.commit({last: (told.path / os.fsdecode(last)).read_text() + "\n"}, QUESTION)
    plain, nothing = ranked(told)
    assert plain[0] != last
    assert nothing == ()
    told.git("config", "ctx.fit", "true")
    assert ranked(told) == ([last, *(path for path in plain if path != last)], name(told))
    told.git("config", "ctx.fit", "false")
    assert ranked(told) == (plain, ())


def test_all_that_rank_by_the_past_say_so(told: Repo) -> None:
    last = ranked(told)[0][-1]
    told.commit({last: (told.path / os.fsdecode(last)).read_text() + "\nLIMIT = 5\n"}, QUESTION)
    told.git("config", "ctx.fit", "true")
    with ctx.open(told.path) as index:
        differing = index.search(QUESTION, within="HEAD~1..HEAD")
        explanation = index.explain(os.fsdecode(last), QUESTION)
        made = index.pack(QUESTION).pack
        by_file = index.search_files(QUESTION).about
    for say in (differing, explanation.about, by_file, made, decode(encode(made))):
        assert say.ranked_with == name(told)
    assert explanation_in_words(explanation, b"").endswith(f"; ranked with {name(told)[0]}")
    told.git("config", "ctx.fit", "false")
    with ctx.open(told.path) as index:
        plain = index.search(QUESTION, within="HEAD~1..HEAD")
        assert (plain.ranked_with, index.pack(QUESTION).pack.ranked_with) == ((), ())
        assert index.pack(QUESTION).pack.slug != made.slug, "one is not taken for the other"
    assert plain.hits[0].path == differing.hits[0].path == last
    assert plain.hits[0].score < differing.hits[0].score, "the message said just that"


def test_the_tools_for_agents_say_so_too(told: Repo) -> None:
    """In their values always, and in their text where there is something to say."""
    path = os.fsdecode(ranked(told)[0][-1])
    told.commit({path: (told.path / path).read_text() + "\nLIMIT = 5\n"}, QUESTION)
    calls: list[tuple[str, dict[str, str]]] = [
        ("code_search", {"text": QUESTION}),
        ("code_search", {"text": QUESTION, "changedIn": "HEAD~1"}),
        ("explain", {"task": QUESTION, "path": path}),
        ("pack", {"task": QUESTION}),
        ("read_pack", {"slug": "latest"}),
    ]
    project = Project(str(told.path))
    try:
        for tool, given in calls:
            assert project.call(tool, given).values["rankedWith"] == []
        told.git("config", "ctx.fit", "true")
        for tool, given in calls:
            assert project.call(tool, given).values["rankedWith"] == list(name(told)), tool
        for tool, given in calls[:3]:
            assert f"ranked with {name(told)[0]}" in project.call(tool, given).text
        place = {"place": f"{path}:1"}
        assert project.call("find_related", place).values["rankedWith"] == [], "likeness has no past"
    finally:
        project.close()


def test_an_index_run_brings_the_past_up_to_date(told: Repo) -> None:
    told.git("config", "ctx.fit", "true")
    before = name(told)
    assert ranked(told)[1] == before
    told.commit({"src/alpha.py": _BODY.format(name="alpha") + "\n\n"}, "alpha reads less")
    assert ranked(told)[1] == before, "a search does not read the history again"
    with ctx.open(told.path) as index:
        assert index.search(QUESTION).ranked_with == before
        index.index()
        assert index.search(QUESTION).ranked_with == name(told), "an index that is open sees it too"
    assert ranked(told)[1] == name(told)


def test_what_was_learned_stays(told: Repo) -> None:
    told.git("config", "ctx.fit", "true")
    with ctx.open(told.path) as index:
        path = fit_path(index.session.store.path)
        learned = Correction(
            CommitHistory(index.repository, told.id()).whole(), np.arange(len(FEATURES)) * 1.0, told.id(), 7
        )
        index.session.store.write_file(path, learned.encoded())
    assert ranked(told)[1] == name(told, "fit")
    told.commit({"src/new.py": _BODY.format(name="new")}, "one more reader")
    with ctx.open(told.path) as index:
        index.index()
    kept = load(path)
    assert kept is not None
    assert (kept.commit, kept.tasks, kept.weights.tolist()) == (told.id(), 7, learned.weights.tolist())
    assert len(kept.past.path) == len(learned.past.path) + 1


@pytest.mark.parametrize("state", ["damaged", "a directory", "of another ranker"])
def test_a_correction_that_cannot_be_used_is_made_anew(told: Repo, state: str) -> None:
    told.git("config", "ctx.fit", "true")
    ranked(told)
    with ctx.open(told.path) as index:
        path = fit_path(index.session.store.path)
    if state == "a directory":
        (told.path / ".git/ctx/fit").unlink()
        (told.path / ".git/ctx/fit").mkdir()
    else:
        data = bytearray((told.path / ".git/ctx/fit").read_bytes())
        data[len(data) // 2] ^= 1
        (told.path / ".git/ctx/fit").write_bytes(data)
    assert ranked(told)[1] == name(told)
    made = load(path)
    assert (made is None) is (state == "a directory")
    assert made is None or made.weights.tolist() == USUAL.tolist()


def test_names_with_marks_of_their_own_do_no_harm(told: Repo) -> None:
    told.commit({b"src/odd\x01\x02name.py": "x = 1\n", b"src/\xff.py": "y = 2\n"}, "odd \x01 names \x02 here")
    told.git("config", "ctx.fit", "true")
    found, ranked_with = ranked(told)
    assert len(found) > 4
    assert ranked_with == name(told)


def test_the_past_names_files_from_the_root_whatever_the_user_configured(told: Repo) -> None:
    last = ranked(told)[0][-1]
    told.commit({last: (told.path / os.fsdecode(last)).read_text() + "\n"}, QUESTION)
    told.git("config", "ctx.fit", "true")
    told.git("config", "diff.relative", "true")
    with ctx.open(told.path / "src") as index:
        assert index.search("throttle the uploads of a stream").hits[0].path == last


def test_a_branch_without_a_commit_has_no_past(told: Repo) -> None:
    main = told.id().hex()
    told.git("config", "ctx.fit", "true")
    told.git("checkout", "--quiet", "--orphan", "fresh")
    found, ranked_with = ranked(told, revision=main)
    assert found
    assert ranked_with == ()
