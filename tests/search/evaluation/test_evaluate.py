"""Replaying, comparing and corrections on a repository whose commits are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import FIRST_SECOND, Repo

import ctx
from ctx.errors import UsageError
from ctx.ranking.correction import Correction, fit_path, load
from ctx.ranking.file_history import history_of, path_hash
from ctx.search.evaluation.evaluate import evaluate
from ctx.search.evaluation.replay import TWICE
from ctx.search.evaluation.settings import parse
from ctx.storage.arrays import encode, map_file
from ctx.text.terms import term_hash

NOUNS = "session invoice cookie payment mailbox schedule permission account".split()


def module(noun: str, lines: int) -> str:
    body = "".join(f"    step({number})\n" for number in range(lines))
    return f"def renew_{noun}(user):\n{body}\n\ndef drop_{noun}(user):\n    return user\n"


@pytest.fixture
def project(repo: Repo) -> Repo:
    """Each commit changes the module that it names, except every fourth, which names another."""
    lines = dict.fromkeys(NOUNS, 1)
    stream = commit(0, "Begin with what there is", dict.fromkeys(NOUNS, 1))
    for number in range(48):
        noun = NOUNS[number % len(NOUNS)]
        lines[noun] += 1
        said = f"Renew the {noun} in step {number} as well"
        if number % 4 == 3:
            said = f"Obey the auditors of department {number} in Zürich"
        stream += commit(number + 1, said, {noun: lines[noun]})
    repo.git("fast-import", "--quiet", stdin=stream)
    repo.git("reset", "--quiet", "--hard")
    return repo


def commit(number: int, message: str, lines: dict[str, int]) -> bytes:
    """A commit of the branch main as `git fast-import` reads it."""
    said = message.encode()
    when = FIRST_SECOND + 3600 * number
    stream = b"commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata %d\n%s\n" % (
        when,
        len(said),
        said,
    )
    for noun, count in lines.items():
        text = module(noun, count).encode()
        stream += b"M 644 inline src/%s.py\ndata %d\n%s\n" % (noun.encode(), len(text), text)
    return stream


def test_changed_files_and_chunks_are_found(project):
    with ctx.open(project.path) as index:
        found = evaluate(index.session, most=12)
    assert found.commits == 12
    assert found.examined == 12
    grade = found.grades[0]
    assert grade.commits == 12
    assert 9 <= grade.found <= 12
    assert grade.first >= 8
    assert grade.recall == tuple(sorted(grade.recall))
    assert grade.right_place == 1.0
    assert list(found.groups["directory"]) == ["src"]
    assert {name: grades[0].commits for name, grades in found.groups["kind"].items()} == {"sources": 12}


def test_a_repeated_question_counts_once(project):
    for lines in (60, 61):
        project.commit({"src/cookie.py": module("cookie", lines)}, "Renew the cookie for good")
    with ctx.open(project.path) as index:
        assert evaluate(index.session, most=3).left_out == {TWICE: 1}


def test_settings_are_compared(project):
    with ctx.open(project.path) as index:
        found = evaluate(index.session, most=12, compare=["vectors=on", "words=off,vectors=off,names=off"])
    assert found.settings == ["as shipped", "vectors=on", "words=off,vectors=off,names=off"]
    same, nothing = found.differences
    assert same == (0.0, 0.0, 0.0)
    assert nothing.high < 0
    assert found.grades[2].found == 0


@pytest.mark.parametrize(
    "text", ["words", "words=maybe", "", "depth=3", "ranker=/nowhere", "ranker=README.md", "fit=on"]
)
def test_an_unknown_setting_lists_the_known_ones(text):
    with pytest.raises(UsageError):
        parse(text)


def test_an_interrupt_keeps_what_was_graded(project):
    def stop(done: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with ctx.open(project.path) as index:
        found = evaluate(index.session, most=12, progress=stop)
    assert found.interrupted
    assert found.commits == found.grades[0].commits == 4


def test_a_history_ends_with_its_commit(project):
    parent = project.id()
    project.commit({"src/account.py": module("account", 60)}, "Welcome the surveyors as well")
    with ctx.open(project.path) as index:
        past = history_of(index.repository, parent)
        whole = history_of(index.repository, project.id())
    assert term_hash("surveyors") not in past.term.tolist()
    assert term_hash("surveyors") in whole.term.tolist()
    before, after = (
        one.changed[one.path.tolist().index(path_hash(b"src/account.py"))] for one in (past, whole)
    )
    assert before < after


@pytest.fixture
def stored(project: Repo) -> str:
    with ctx.open(project.path) as index:
        correction = Correction(history_of(index.repository, project.id()), project.id())
        path = fit_path(index.session.store.path)
        index.session.store.write_file(path, correction.encoded())
        return path


def test_a_correction_round_trips_through_its_file(stored, project):
    correction = load(stored)
    assert correction.commit == project.id()
    with ctx.open(project.path) as index:
        expected = history_of(index.repository, project.id())
    for name, array in expected._asdict().items():
        assert getattr(correction.past, name).tolist() == array.tolist()


@pytest.mark.parametrize(
    "damage", ["cut", "flip", "empty", "format", "commit", "nan", "order", "missing", "place"]
)
def test_a_damaged_or_foreign_correction_is_not_loaded(stored, damage):
    arrays, meta = map_file(stored)
    arrays = {name: array.copy() for name, array in arrays.items()}
    data = Path(stored).read_bytes()
    if damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data = data[:200] + bytes([data[200] ^ 1]) + data[201:]
    elif damage == "empty":
        data = b""
    else:
        if damage == "format":
            meta["format"] += 1
        elif damage == "commit":
            meta["commit"] = meta["commit"].hex()
        elif damage == "nan":
            arrays["changed"][0] = float("nan")
        elif damage == "order":
            arrays["path"] = arrays["path"][::-1]
        elif damage == "missing":
            del arrays["times"]
        elif damage == "place":
            arrays["place"][0] = len(arrays["path"])
        data = encode(arrays, meta)
    Path(stored).write_bytes(data)
    assert load(stored) is None
