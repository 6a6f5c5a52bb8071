"""Answers on the screen: one group for each file, tests below what they test, doubt, and an end."""

from __future__ import annotations

import re
from pathlib import Path

from repositories import Repo
from small_project import GitCtx

STORE = '''"""Sessions of users."""


def renew_session(session, seconds):
    """Renew a session before it expires, so that the user need not log in again."""
    session.expires = max(session.expires, now() + seconds)
    session.token = fresh_token(session.user)
    return session


def expire_session(session):
    """Expire a session at once: the user must log in again with a password."""
    session.expires = now()
    session.token = None
    forget_token(session.user)


def renew_all_sessions(sessions, seconds):
    """Renew all sessions of a user, the oldest one first, and return those renewed."""
    oldest_first = sorted(sessions, key=lambda one: one.expires)
    return [renew_session(session, seconds) for session in oldest_first]
'''
TEST = '''def test_a_session_is_renewed(clock):
    """A session that is renewed expires later, with another token than before."""
    session = login("ada")
    renewed = renew_session(session, 60)
    assert renewed.expires > clock.now
'''
PLACE = re.compile(r"^(\S+):(\d+)-(\d+):(.*)$", re.MULTILINE)


def project(repo: Repo) -> Repo:
    repo.commit(
        {
            "web/store.py": STORE,
            "tests/test_store.py": TEST,
            "web/colour.py": "def mix(a, b):\n    return (a + b) / 2\n",
        }
    )
    return repo


def test_the_definitions_of_a_file_are_one_group(git_ctx: GitCtx, repo: Repo) -> None:
    run = git_ctx("search", "renew", "the", "sessions", cwd=project(repo).path)
    head, *rest = [one[4] for one in PLACE.finditer(run.text) if one[1] == "web/store.py"]
    assert set(rest) | {head} >= {"renew_session", "renew_all_sessions"}
    assert run.text.count("    cite ") == len(
        {one[1] for one in PLACE.finditer(run.text)} - {"tests/test_store.py"}
    )
    for name in rest:
        line = next(number for number, text in enumerate(STORE.split("\n"), 1) if f"def {name}(" in text)
        assert f"    {line}  def {name}(" in run.text


def test_a_further_text_without_a_name_is_shown_by_its_best_line(git_ctx: GitCtx, repo: Repo) -> None:
    parts = [f"\n{word} = [\n" + f"  {word},\n" * 60 + "]\n" for word in ("alpha", "beta", "gamma")]
    text = "\n\n".join(part + f"renewal of {number} sessions\n" for number, part in enumerate(parts))
    repo.commit({"notes/rules.unknown": text, "colour.py": "def mix(a, b):\n    return (a + b) / 2\n"})
    run = git_ctx("search", "-n", "10", "renewal", "of", "sessions", cwd=repo.path)
    further = re.findall(r"^\S+rules\.unknown:(\d+)-(\d+):\n    (\d+)  (.*)$", run.text, re.MULTILINE)
    assert further
    for first, last, line, shown in further:
        assert int(first) <= int(line) <= int(last)
        assert shown == text.split("\n")[int(line) - 1].strip()
        assert "renewal of" in shown


def test_further_hits_are_no_lines_of_the_snippet(git_ctx: GitCtx, repo: Repo) -> None:
    where = project(repo).path
    run = git_ctx("search", "--color", "always", "renew", "the", "sessions", cwd=where)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", run.text)
    assert re.search(r"^  also  ?\d+  def \w+\(", plain, re.MULTILINE)


def test_a_test_is_below_the_definition_that_it_tests(git_ctx: GitCtx, repo: Repo) -> None:
    where = project(repo).path
    run = git_ctx("search", "-n", "10", "renew", "a", "session", cwd=where)
    assert ":test_a_session_is_renewed\n    tests renew_session\n" in run.text
    asked = git_ctx("search", "tests", "that", "renew", "a", "session", cwd=where)
    assert "tests renew_session" not in asked.text
    assert ":test_a_session_is_renewed\n    cite " in asked.text


def test_programs_get_every_hit_by_rank(git_ctx: GitCtx, repo: Repo) -> None:
    where = project(repo).path
    hits = git_ctx("search", "--json", "renew", "a", "session", cwd=where).json["hits"]
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    (test,) = [hit for hit in hits if hit["isTest"]]
    assert test["tests"] == {"path": "web/store.py", "symbol": "renew_session"}
    for most in (1, 2, 3):
        run = git_ctx("search", "-n", str(most), "renew", "a", "session", cwd=where)
        assert len(PLACE.findall(run.text)) == most


def test_a_coloured_answer_marks_the_words_of_the_query(git_ctx: GitCtx, repo: Repo) -> None:
    run = git_ctx("search", "-n10", "--color", "always", "renew", "a", "session", cwd=project(repo).path)
    marked = {text.lower() for text in re.findall(r"\x1b\[1;(?:\d+;)*31m(\w+)", run.text)}
    assert {"renew", "session"} <= marked
    assert "tested by" in run.text


def test_a_question_of_another_project_is_doubted(git_ctx: GitCtx, repo: Repo) -> None:
    sources = Path(__file__).resolve().parents[2] / "ctx" / "ranking"
    repo.commit({f"ranking/{file.name}": file.read_text(encoding="utf-8") for file in sources.glob("*.py")})
    own = git_ctx("search", "how are definitions ranked by decision trees", cwd=repo.path)
    foreign = git_ctx("search", "a customer is charged twice by the ticket machine", cwd=repo.path)
    assert "perhaps nothing here answers this" not in own.text
    assert foreign.text.startswith("perhaps nothing here answers this (confidence 0.")
    answers = [
        git_ctx("search", "--json", text, cwd=repo.path).json
        for text in ("how are definitions ranked by decision trees", "the ticket machine", "read_pool")
    ]
    assert answers[0]["confidence"] > 0.5 > answers[1]["confidence"]
    assert answers[2]["confidence"] == 1
    for answer in answers:
        assert 0 < answer["worthReading"] <= len(answer["hits"])


def test_a_limit_shows_what_is_not_worth_reading(git_ctx: GitCtx, repo: Repo) -> None:
    files = {
        f"part{number}.py": f"def part_{number}(renewal):\n    return renewal * {number} + {number} ** 2\n"
        for number in range(30)
    }
    project(repo).commit(files)
    text = "renew session before it expires"
    answer = git_ctx("search", "--json", text, cwd=repo.path).json
    worth = answer["worthReading"]
    assert worth < 10
    default = git_ctx("search", text, cwd=repo.path)
    assert len(PLACE.findall(default.text)) == worth
    assert f"({10 - worth} more with far less evidence: use -n 10)" in default.text
    assert len(PLACE.findall(git_ctx("search", "-n", "10", text, cwd=repo.path).text)) == 10
