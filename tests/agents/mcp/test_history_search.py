"""Tests of the tool `history_search`: best, first and last commits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conversations import call_here, text
from repositories import Repo

from ctx.text.tokens import counter

CACHE = "def cached(key):\n    entry = cache_lookup(key)\n    return entry\n"


@pytest.fixture
def ids(repo: Repo) -> dict[str, str]:
    """Create a history in which a cache is added, changed and removed; return short commit ids by name."""
    commits = {
        "start": repo.commit({"readme.md": "# A parser\n"}, "Start a parser of invoices"),
        "come": repo.commit({"src/store.py": CACHE}, "Keep answers for a while"),
        "touch": repo.commit({"src/store.py": CACHE.replace("return entry", "return entry or None")}, "Tidy"),
        "go": repo.commit({"src/store.py": None}, "Ask the source each time"),
        "end": repo.commit({"src/net.py": "def retry_request(url):\n    return url\n"}, "Retry requests"),
    }
    return {name: oid.hex()[:12] for name, oid in commits.items()}


def commits(result: Any) -> list[str]:
    assert not result.is_error, text(result)
    return [hit["commit"] for hit in result.structured_content["hits"]]


def test_best_first_and_last(repo: Repo, ids: dict[str, str]) -> None:
    """The three values of `which`, and the fields of a hit."""
    best, first, last = call_here(
        repo.path,
        ("history_search", {"text": "retry_request"}),
        ("history_search", {"text": "cached cache_lookup entry", "which": "first"}),
        ("history_search", {"text": "cached cache_lookup entry", "which": "last"}),
    )
    assert commits(best)[0] == ids["end"]
    hit = best.structured_content["hits"][0]
    assert (hit["author"], hit["subject"], hit["date"]) == ("Ada Tester", "Retry requests", "2020-09-13")
    assert hit["changes"] == [{"path": "src/net.py", "side": "added", "startLine": 1, "endLine": 2}]
    assert text(best).splitlines()[:3] == [
        f"{ids['end']} 2020-09-13 Ada Tester: Retry requests",
        "+ src/net.py:1-2",
        "1\tdef retry_request(url):",
    ]
    assert commits(first) == [ids["come"]]
    assert commits(last) == [ids["go"]]
    assert last.structured_content["hits"][0]["changes"][0]["side"] == "removed"


def test_filters(repo: Repo, ids: dict[str, str]) -> None:
    """Filters by date, author, path, branch and revision, also with an empty result."""
    repo.git("branch", "side", ids["come"])
    asked = {"text": "keep answers, retry requests, start a parser"}
    of_path, of_branch, of_revision, later, nobody = call_here(
        repo.path,
        ("history_search", asked | {"pathFilter": "src/net.py"}),
        ("history_search", asked | {"branch": "side"}),
        ("history_search", asked | {"revision": ids["start"]}),
        ("history_search", asked | {"since": "2030-01-01"}),
        ("history_search", asked | {"author": "Nobody"}),
    )
    assert commits(of_path) == [ids["end"]]
    assert set(commits(of_branch)) == {ids["start"], ids["come"]}
    assert of_branch.structured_content["commits"] == 2
    assert commits(of_revision) == [ids["start"]]
    assert commits(later) == commits(nobody) == []
    assert "fewer filters" in text(later)
    assert later.structured_content["passedFilters"] == 0


def test_new_commit_is_found_by_the_next_question(repo: Repo, ids: dict[str, str]) -> None:
    new: list[str] = []

    def between() -> None:
        new.append(repo.commit({"src/ui.py": "def paint_window(): ...\n"}, "Paint a window").hex()[:12])

    asked = ("history_search", {"text": "paint_window"})
    before, after = call_here(repo.path, asked, between, asked)
    assert new[0] not in commits(before)
    assert commits(after)[0] == new[0]


@pytest.mark.parametrize("most", [200, 400, 2000])
def test_answers_stay_within_max_tokens(repo: Repo, most: int) -> None:
    """Text and values together stay within the limit; hits are shortened before they are omitted."""
    for n in range(6):
        body = "\n".join(
            f"    total = total + session * {line}  # näher am Ziel {line}" for line in range(40)
        )
        repo.commit({f"src/f{n}.py": f"def session_{n}(session, total):\n{body}\n"}, f"Add session {n}")
    (result,) = call_here(repo.path, ("history_search", {"text": "session total", "maxTokens": most}))
    values = json.dumps(result.structured_content, ensure_ascii=False)
    count = counter()
    assert count(text(result)) + count(values) <= most
    assert result.structured_content["hits"]


def test_invalid_calls_are_tool_errors(repo: Repo, ids: dict[str, str]) -> None:
    bad = [
        ({"text": "x", "branch": "nowhere"}, "there is no branch 'nowhere'"),
        ({"text": "x", "branch": "main", "revision": "HEAD"}, "exclude each other"),
        ({"text": "x", "which": "middle"}, "has to be one of best, first, last"),
        ({"text": "x", "pathFilter": "../x"}, "leads out of the project"),
        ({"text": "x", "author": "\\("}, "Unmatched"),
    ]
    results = call_here(repo.path, *[("history_search", arguments) for arguments, _ in bad])
    for result, (arguments, words) in zip(results, bad, strict=True):
        assert result.is_error, arguments
        assert words in text(result), (arguments, text(result))
