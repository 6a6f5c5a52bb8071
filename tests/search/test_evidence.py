"""Evidence is correct: contributions add up, and words are reported as they occur in the text."""

from __future__ import annotations

import asyncio
import concurrent
import email
import http
import importlib
import json
import logging
import multiprocessing
import unittest
from pathlib import Path
from typing import Any

import pytest
from repositories import Repo

import ctx
from ctx.history.answer import CommitFilters
from ctx.ranking import query_terms
from ctx.search.evidence import answering
from ctx.search.evidence.types import FileAnswer, FileHit

SHOP = {
    "server/sessions.py": "from server.users import User\n\n\nclass SessionStore:\n"
    "    def renew(self, session):\n        session.end += 60\n        return User(session)\n",
    "server/users.py": "class User:\n    def __init__(self, session):\n        self.session = session\n",
    "server/payments.py": "def refund_payment(order):\n    return order.total\n",
    "tests/test_sessions.py": "from server.sessions import SessionStore\n\n\ndef test_renew():\n"
    "    assert SessionStore().renew(None)\n",
    "docs/guide.md": "# Guide\n\nA session is renewed by each request.\n",
}


def answer(repo: Repo, query: str, **options: Any) -> FileAnswer:
    with ctx.open(repo.path) as index:
        return index.search_files(query, **options)


def hit(found: FileAnswer, path: str) -> FileHit:
    return next(one for one in found.hits if one.path == path)


def said(one: FileHit, kind: str) -> list[dict[str, Any]]:
    return [dict(evidence) for evidence in one.evidence if evidence["kind"] == kind]


@pytest.mark.parametrize(
    "query", ["renew the session", "refund payment", "where is the user", "обновить сессию", "xyzzy"]
)
def test_contributions_add_up_and_files_are_those_of_a_search(repo: Repo, query: str) -> None:
    repo.commit(SHOP)
    found = answer(repo, query)
    for one in found.hits:
        assert sum(one.contributions.values()) == pytest.approx(one.margin, abs=1e-9)
        assert 0 <= one.score <= 1
    assert [one.score for one in found.hits] == sorted((one.score for one in found.hits), reverse=True)
    if found.hits:
        assert found.hits[0].score == 1.0
    with ctx.open(repo.path) as index:
        files = list(dict.fromkeys(one.path for one in index.search(query).hits))
    assert sorted(one.path for one in found.hits) == sorted(files)


@pytest.mark.parametrize(
    ("text", "query", "origin", "words"),
    [
        ("def a():\n    renew = 1\n", "renew", "literal", ["renew"]),
        ("def a():\n    Renew = 1\n", "renew", "literal", ["Renew"]),
        ("def a():\n    renewing = 1\n", "renew", "stem", ["renewing"]),
        ("def a():\n    renew = 1\n", "renewing", "stem", ["renew"]),
        ("def a():\n    renew_now = renewing = 1\n", "renew", "identifier", ["renew_now", "renewing"]),
        ("def a():\n    RenewPolicy = 1\n", "renew", "identifier", ["RenewPolicy"]),
        ("def a():\n    renewing_now = 1\n", "renew", "stem", ["renewing_now"]),
        ("def a():\n    renewing = renew = 1\n", "renew", "literal", ["renew"]),
        ("def a():\n    erneuert = 1\n", "erneuert", "literal", ["erneuert"]),
        ("def a():\n    renew = 1\n", "erneuert", "translation", ["renew"]),
    ],
)
def test_a_word_is_reported_as_it_occurs(
    repo: Repo, text: str, query: str, origin: str, words: list[str]
) -> None:
    repo.commit({"a.py": text})
    (one,) = answer(repo, query).hits
    (lexical,) = [found for found in said(one, "lexical") if found["source"] == query.lower()]
    assert (lexical["origin"], lexical["found"], lexical["lines"]) == (origin, words, [2])


def test_words_that_form_a_name_are_an_identifier(repo: Repo) -> None:
    repo.commit(SHOP)
    found = answer(repo, "session store")
    compound = [
        one for one in said(hit(found, "server/sessions.py"), "lexical") if one["word"] == "session_store"
    ]
    assert compound[0]["found"] == ["SessionStore"]
    assert compound[0]["origin"] == "identifier"
    assert [term.origin for term in found.terms] == ["stem", "stem", "identifier"]


def test_defined_names_are_evidence(repo: Repo) -> None:
    repo.commit(SHOP)
    symbols = said(hit(answer(repo, "SessionStore"), "server/sessions.py"), "symbol")
    assert next((one["symbol"], one["origin"]) for one in symbols) == ("SessionStore", "literal")
    symbols = said(hit(answer(repo, "refunding payments"), "server/payments.py"), "symbol")
    assert [(one["symbol"], one["origin"]) for one in symbols] == [("refund_payment", "stem")]


def test_words_of_a_path_and_similar_words(repo: Repo) -> None:
    repo.commit({"remove/a.py": "tree = 1\n", "session/b.py": "y = 1\n"})
    found = answer(repo, "delete a tree")
    near = said(hit(found, "remove/a.py"), "path")
    assert [(one["origin"], one["found"]) for one in near] == [("synonym", "remove")]
    assert near[0]["similarity"] > 0.4
    assert [one["origin"] for one in said(hit(answer(repo, "sessions"), "session/b.py"), "path")] == ["stem"]
    assert [one["origin"] for one in said(hit(answer(repo, "session"), "session/b.py"), "path")] == [
        "literal"
    ]


def test_edges_between_hits_are_evidence(repo: Repo) -> None:
    repo.commit(SHOP)
    found = answer(repo, "renew the session of a user")
    edges = {
        (one["sourcePath"], one["relation"], one["targetPath"], one["hops"])
        for one in said(hit(found, "server/sessions.py"), "dependency")
    }
    assert edges == {
        ("server/sessions.py", "imports", "server/users.py", 1),
        ("tests/test_sessions.py", "tests", "server/sessions.py", 1),
    }
    assert "is tested by test_sessions.py" in hit(found, "server/sessions.py").reasons


def test_the_request_for_tests_is_evidence(repo: Repo) -> None:
    repo.commit(SHOP)
    test = hit(answer(repo, "renew the session"), "tests/test_sessions.py")
    assert said(test, "test_intent") == [
        {"kind": "test_intent", "asked": False, "isTest": True, "matchedConcepts": []}
    ]
    assert "ranked lower as a test" in test.reasons
    test = hit(answer(repo, "test that a session is renewed"), "tests/test_sessions.py")
    (intent,) = said(test, "test_intent")
    assert intent == {"kind": "test_intent", "asked": True, "isTest": True, "matchedConcepts": ["test"]}
    code = hit(answer(repo, "tests and fixtures of Sessions, and the TESTS of users"), "server/sessions.py")
    (intent,) = said(code, "test_intent")
    assert intent == {
        "kind": "test_intent",
        "asked": True,
        "isTest": False,
        "matchedConcepts": ["tests", "fixtures"],
    }


def test_the_contribution_of_history_is_named(repo: Repo) -> None:
    repo.commit(SHOP, "open the shop")
    repo.commit({"server/users.py": SHOP["server/users.py"] + "\n"}, "renew the session of users")
    repo.git("config", "ctx.fit", "true")
    found = answer(repo, "renew the session")
    past = f"past {repo.id().hex()[:12]}"
    history = {each.path: one for each in found.hits for one in said(each, "history")}
    assert {one["rankedWith"] for one in history.values()} == {past}
    assert history["server/users.py"]["value"] == max(one["value"] for one in history.values()) > 0
    assert found.about.ranked_with == (past,)
    for each in found.hits:
        assert sum(each.contributions.values()) == pytest.approx(each.margin, abs=1e-9)


def test_a_missing_text_reports_no_word(repo: Repo) -> None:
    repo.commit({"a.py": "def renew():\n    pass\n", "b.py": "x = 1\n"})
    answer(repo, "renew")
    repo.delete_object(repo.id("HEAD:a.py"))
    one = hit(answer(repo, "renew", overlay="committed"), "a.py")
    assert [found["origin"] for found in said(one, "lexical")] == ["stem"]
    assert said(one, "lexical")[0]["found"] == []
    assert [excerpt.text for excerpt in one.excerpts] == [None]


def test_excerpts_stay_within_their_budget(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.commit({f"renew{n}.py": f"def renew_{n}():\n" + "    session = 1\n" * 40 for n in range(8)})
    monkeypatch.setattr(answering, "EXCERPT_BUDGET", 2000)
    found = answer(repo, "renew session")
    texts = [excerpt.text or "" for one in found.hits for excerpt in one.excerpts]
    assert 0 < sum(map(len, texts)) <= 2000
    assert sum(one.left_out for one in found.hits) > 0
    assert len(found.hits) == 8
    assert all(one.symbols for one in found.hits)
    assert [one.excerpts for one in answer(repo, "renew session", excerpts=False).hits] == [()] * 8


def test_filters_restrict_files_and_change_no_score(repo: Repo) -> None:
    repo.commit(SHOP)
    found = answer(repo, "session", paths=["nowhere"])
    assert found.hits == ()
    assert "nowhere" in (found.about.message or "")
    assert [one.path for one in answer(repo, "session", content="docs").hits] == ["docs/guide.md"]
    with pytest.raises(ctx.errors.UsageError):
        answer(repo, " ")


def test_the_same_tree_gives_the_same_answer(repo: Repo) -> None:
    repo.commit(SHOP)
    one, other = (answer(repo, "renew the session") for _ in range(2))
    assert one.hits == other.hits


def test_a_similar_word_in_the_text_is_evidence(repo: Repo) -> None:
    repo.commit({**SHOP, "server/tokens.py": "def forget(token):\n    pass\n\n\nremove = forget\n"})
    one = hit(answer(repo, "delete the token"), "server/tokens.py")
    (near,) = [word for word in said(one, "lexical") if word["origin"] == "synonym"]
    assert (near["source"], near["found"], near["lines"]) == ("delete", ["remove"], [5])
    assert 0.4 <= near["similarity"] < 1
    assert "has words similar to delete (remove)" in one.reasons
    # A word that occurs itself needs no similar word.
    one = hit(answer(repo, "remove the token"), "server/tokens.py")
    assert [word["origin"] for word in said(one, "lexical") if word["source"] == "remove"] == ["literal"]


def test_commits_are_evidence_if_the_history_is_indexed(repo: Repo) -> None:
    repo.commit(SHOP, "Open the shop")
    renewed = {"server/sessions.py": SHOP["server/sessions.py"].replace("60", "90")}
    repo.commit(renewed, "Renew a session for half a minute more")
    assert said(hit(answer(repo, "renew the session"), "server/sessions.py"), "history") == []
    with ctx.open(repo.path) as index:
        index.history("anything", CommitFilters())
    found = answer(repo, "renew the session")
    first, *others = said(hit(found, "server/sessions.py"), "history")
    assert (first["commit"], first["subject"]) == (
        repo.git("rev-parse", "HEAD").decode(),
        "Renew a session for half a minute more",
    )
    assert first["time"] > 0
    assert first["score"] > 0
    one = hit(found, "server/sessions.py")
    assert f"was changed by {first['commit'][:12]} Renew a session for half a minute more" in one.reasons
    assert sum(one.contributions.values()) == pytest.approx(one.margin, abs=1e-9)
    assert all(first["score"] >= other["score"] for other in others)
    assert first not in said(hit(found, "server/users.py"), "history")
    with ctx.open(repo.path) as index:
        explained = index.explain("server/sessions.py", "renew the session")
        older = index.search_files("renew the session", revision="HEAD~")
    assert [dict(one) for one in explained.hit.evidence if one["kind"] == "history"] == [first, *others]
    # The commit was not read before.
    assert said(hit(older, "server/sessions.py"), "history") == []


ORIGINS = {
    "literal": ("user", ("user", "user")),
    "stem": ("renewing", ("renew", "renewing")),
    "identifier": ("session store", ("session_store", "session_store")),
    "synonym": ("delete the token", ("remov", "delete")),
    "translation": ("erneuert", ("renew", "erneuert")),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_every_origin_of_a_term_occurs(repo: Repo, origin: str) -> None:
    """In a search by file, in an explanation, and in the manifest of a pack."""
    query, (word, source) = ORIGINS[origin]
    repo.commit({**SHOP, "server/remove.py": "def remove_token(token):\n    return token.remove()\n"})
    found = answer(repo, query)
    with ctx.open(repo.path) as index:
        terms = {
            "search": found.terms,
            "explain": index.explain("server/remove.py", query).terms,
            "pack": index.pack(query).pack.query_terms,
        }
    for command, said_terms in terms.items():
        named = {(one.term, one.source): one for one in said_terms if one.origin == origin}
        assert (word, source) in named, (command, said_terms)
        assert named[word, source].weight > 0
    assert {one.origin for one in found.terms} <= set(query_terms.ORIGINS)
    if origin == "synonym":
        (asked,) = [one for one in found.terms if one.source == source and one.origin != origin]
        (near,) = [one for one in found.terms if (one.term, one.source) == (word, source)]
        assert 0.4 * asked.weight <= near.weight < asked.weight


def test_the_limit_does_not_change_the_order_of_files(repo: Repo) -> None:
    """Up to fifty, as docs/ranker.md states; the sources of a package with more than fifty files."""
    for package in (asyncio, concurrent, email, http, importlib, json, logging, multiprocessing, unittest):
        folder = Path(next(iter(package.__path__)))
        repo.write({f"{package.__name__}/{file.name}": file.read_bytes() for file in folder.glob("*.py")})
    repo.commit()
    with ctx.open(repo.path) as index:
        for query in (
            "cancel a task",
            "parse a header",
            "run the event loop",
            "decode a payload",
            "a policy",
        ):
            fifty = [one.path for one in index.search_files(query, limit=50, excerpts=False).hits]
            assert len(fifty) > 20
            for limit in (5, 10, 20):
                fewer = [one.path for one in index.search_files(query, limit=limit, excerpts=False).hits]
                assert fewer == fifty[:limit], (query, limit)
