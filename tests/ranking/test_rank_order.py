"""The order depends on the tree alone, and files come before further rows of one file."""

from __future__ import annotations

import subprocess
import sys

import pytest
from repositories import Repo

import ctx
from ctx.ranking import ranker
from ctx.text.query import words_of
from ctx.types import Hit

TOPICS = ("session", "retry", "parser", "invoice", "cache", "socket", "palette", "ledger", "cookie", "route")


def module(topic: str, functions: int = 3) -> str:
    """A module about one topic."""
    parts = [f'"""All about the {topic}."""\n\nimport time\n']
    for number in range(functions):
        parts.append(
            f"\n\ndef renew_{topic}_{number}(store, limit):\n"
            f'    """Renew the {topic} number {number} of a store before its limit."""\n'
            + "".join(f"    store.keep_{topic}(limit + {step}, {number})\n" for step in range(24))
            + "    return store\n"
        )
    return "".join(parts)


@pytest.fixture
def project(repo: Repo) -> Repo:
    """Ten modules with tests, a page of documentation, and a history of many small commits."""
    repo.commit({f"src/{topic}.py": module(topic) for topic in TOPICS[:4]})
    for topic in TOPICS[4:]:
        repo.commit({f"src/{topic}.py": module(topic)})
    repo.commit({f"tests/test_{topic}.py": module(topic, 1) for topic in TOPICS})
    repo.commit({"README.md": "# Things\n\nHow to renew a session, a cookie or a ledger.\n"})
    repo.commit({"src/session.py": module("session", 5)})
    return repo


def answer(repo: Repo, query: str, **options: object) -> list[Hit]:
    with ctx.open(repo.path) as index:
        return index.search(query, **options).hits  # type: ignore[arg-type]


def test_the_order_does_not_depend_on_how_a_tree_was_indexed(project: Repo, make_repo) -> None:
    revisions = project.git("rev-list", "--reverse", "HEAD").decode().split()
    with ctx.open(project.path) as index:
        for revision in revisions:
            index.index(revision=revision)
    clone = make_repo("clone")
    clone.git("pull", "--quiet", str(project.path), "main")
    for query in ("renew the session", "keep ledger limit", "renew_cookie_1", "how are routes kept"):
        assert answer(project, query) == answer(clone, query)


def test_candidates_among_many_ties_depend_on_the_tree_alone(repo: Repo, make_repo) -> None:
    """Some have exactly the evidence of the last candidate."""
    for turn in range(3):
        files = {
            f"src/{topic}/part_{turn}_{number}.py": module(topic, 1) + f"\n# {turn} {number}\n"
            for topic in TOPICS[:5]
            for number in range(8)
        }
        repo.commit(files)
        with ctx.open(repo.path) as index:
            index.index()
    clone = make_repo("clone")
    clone.git("pull", "--quiet", str(repo.path), "main")
    for query in ("renew the session", "keep ledger limit", "part", "renew_cache_0 of a store"):
        for limit in (3, 10, 40):
            hits = answer(repo, query, limit=limit)
            assert len(hits) == limit
            assert hits == answer(clone, query, limit=limit)


def test_a_file_is_found_by_its_topic(project: Repo) -> None:
    for topic in TOPICS:
        assert answer(project, f"how is a {topic} renewed")[0].path == f"src/{topic}.py"
        assert answer(project, f"renew_{topic}_2")[0].symbol == f"renew_{topic}_2"


def test_tests_come_first_only_if_requested(project: Repo) -> None:
    assert answer(project, "tests of the parser")[0].path == "tests/test_parser.py"
    assert answer(project, "the parser")[0].path == "src/parser.py"


def test_documentation_ranks_with_code_only_if_requested(project: Repo) -> None:
    project.commit(
        {
            "GUIDE.md": "# Things\n\n## Installing\n\nInstall the plugins with `things install`.\n",
            "src/install.py": "def install_plugins(names):\n    for name in names:\n        install(name)\n",
        }
    )

    def page(query: str) -> list[str]:
        return [hit.path for hit in answer(project, query, limit=5)]

    for query in ("how do I install the plugins", "plugins: install instructions", "the guide to plugins"):
        assert "GUIDE.md" in page(query)[:3]
    assert page("install the plugins")[0] == "src/install.py"
    assert "GUIDE.md" not in page("install the plugins")


def test_the_newer_version_of_a_directory_comes_first_unless_a_version_is_requested(repo: Repo) -> None:
    repo.commit(
        {
            f"{folder}/{topic}.py": module(topic) + f"\n# {folder}\n"
            for topic in TOPICS[:3]
            for folder in ("pkg/v1", "pkg/v2", "pkg/v10", "other/v9", "rev1", "v3")
        }
    )
    hits = answer(repo, "renew the session", limit=20)
    places = {hit.path.removesuffix("/session.py"): rank for rank, hit in reversed([*enumerate(hits)])}
    assert places["pkg/v10"] < min(places["pkg/v1"], places["pkg/v2"])
    assert max(places[folder] for folder in ("pkg/v10", "other/v9", "rev1", "v3")) < 4
    assert answer(repo, "renew the session in v1")[0].path == "pkg/v1/session.py"


def test_one_file_does_not_fill_the_answer(project: Repo) -> None:
    hits = answer(project, "renew a store before its limit", limit=8)
    assert len({hit.path for hit in hits}) >= 6
    assert len({(hit.path, hit.position) for hit in hits}) == len(hits)


def test_a_file_of_many_chunks_fills_the_limit(repo: Repo) -> None:
    repo.commit({"src/session.py": module("session", 80)})
    for limit in (3, 30, 70):
        hits = answer(repo, "how is renew_session_57 called", limit=limit)
        assert len({hit.position for hit in hits}) == limit
        assert hits[0].symbol == "renew_session_57"


def test_scores_are_sorted_and_in_range(project: Repo) -> None:
    for query in ("renew session", "ledger", "zebra quagga okapi", "limit"):
        scores = [hit.score for hit in answer(project, query, limit=50)]
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)


def test_a_filter_only_leaves_hits_out(project: Repo) -> None:
    within = answer(project, "renew the session", paths=["src"], limit=50)
    assert within
    assert all(hit.path.startswith("src/") for hit in within)
    assert within[0].path == "src/session.py"


def test_a_search_imports_no_training_package() -> None:
    code = (
        "import sys, ctx.search.hits, ctx.ranking.gbdt; ctx.ranking.gbdt.file_ranker();"
        "print([name for name in ('lightgbm', 'scipy', 'sklearn', 'pandas') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


def test_the_definition_with_the_name_is_shown_of_its_file(project: Repo) -> None:
    """Another function of the file repeats the word."""
    much = "".join(
        f"    # the url of the ledger, for url {n}\n    url_ledger = bind_url_ledger({n})\n"
        for n in range(15)
    )
    body = "".join(f"    total = total + share_{n}(a, b) * {n}\n" for n in range(30))
    text = f"def create_ledger_adapter(a, b):\n{much}\n\ndef ledger_of(a, b):\n{body}    return total\n"
    project.commit({"src/odds_and_ends.py": text})
    hits = [hit for hit in answer(project, "ledger of") if hit.path == "src/odds_and_ends.py"]
    assert [hit.symbol for hit in hits][:2] == ["ledger_of", "create_ledger_adapter"]


@pytest.mark.parametrize(
    "name", ["keep_ledger_within_limit", "keepLedgerWithinTheGivenLimitOfStore", "is_ledger", "ledgerFor"]
)
def test_a_definition_named_like_the_whole_query_comes_first(
    project: Repo, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = " ".join(words_of(name))
    project.commit({"src/odds_and_ends.py": f"def {name}(a, b):\n    return a if a < b else b\n"})
    assert answer(project, query)[0].path == "src/odds_and_ends.py"
    asked = f"the palette of cookies where we {query}"
    monkeypatch.setattr(ranker, "NAME_GAIN", 0.0)
    plain = [hit.score for hit in answer(project, asked)]
    weighed = answer(project, query)[0].score
    monkeypatch.undo()
    assert [hit.score for hit in answer(project, asked)] == plain, "the name is not all that is asked"
    assert answer(project, query)[0].score > weighed
