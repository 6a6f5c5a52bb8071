"""The public interface: its names, and the examples of docs/python-api.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from repositories import Repo

import ctx
from ctx.types import ModelOptions, Request

PAGE = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text()
MEMBERS = set(
    "cited close explain fetch history index pack packs plan related related_changes remove repository "
    "resolve search search_files session status submodules update_pack".split()
)
SESSIONS = "def renew_session(session):\n    session.expires = later()\n    return session\n"
DATES = "def parse_date(text):\n    return text.split('-')\n"


@pytest.fixture
def repo(make_repo: Callable[..., Repo]) -> Repo:
    repo = make_repo()
    repo.commit({"src/sessions.py": SESSIONS}, "Renew sessions")
    repo.commit(
        {"src/dates.py": DATES, "src/more.py": SESSIONS.replace("_session", "_ticket")}, "Parse a date"
    )
    return repo


def test_examples_run(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repo.path)
    names: dict[str, Any] = {}
    for number, example in enumerate(re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.M | re.S)):
        exec(compile(example, f"python-api.md, example {number + 1}", "exec"), names)


def test_every_public_name_is_documented_and_exists() -> None:
    documented = set(re.findall(r"\bctx\.([A-Za-z_]\w*)", PAGE))
    assert documented == set(ctx.__all__)
    assert len(ctx.__all__) == len(set(ctx.__all__))
    for name in ctx.__all__:
        assert getattr(ctx, name) is not None
    assert not hasattr(ctx, "nothing")


def test_an_index_has_these_members() -> None:
    members = {name for name in [*vars(ctx.Index), "session"] if not name.startswith("_")}
    assert members == MEMBERS
    assert len(members) <= 20
    for name in members:
        assert re.search(rf"\b{name}\b", PAGE), name


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading of the page, without its head."""
    lines = PAGE[PAGE.index(heading) :].splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("|---"))
    return [line.strip("| ").split(" | ") for line in takewhile(bool, lines[start + 1 :])]


def signature(function: Any) -> str:
    """Return the parameters of a method or class with their defaults, without types."""
    found = inspect.signature(function)
    bare = [one.replace(annotation=one.empty) for one in found.parameters.values() if one.name != "self"]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


def test_the_page_has_the_signature_of_every_method() -> None:
    methods = MEMBERS - {"packs", "repository", "session"}
    listed = {row[0].strip("`") for row in rows("| method of `ctx.Index`")}
    assert listed == {name + signature(getattr(ctx.Index, name)) for name in methods}


def test_the_page_has_the_defaults_of_all_options() -> None:
    listed = {row[0].strip("`"): re.findall(r"`(\w+)=([^`]+)`", row[1]) for row in rows("| options |")}
    for name in ("CommitFilters", "ModelOptions", "PackOptions", "UpdateOptions"):
        given = inspect.signature(getattr(ctx, name)).parameters.values()
        assert listed.pop(f"ctx.{name}") == [(one.name, repr(one.default)) for one in given]
    assert listed == {}
    defaults = [
        (name, row[1].strip("`")) for row in rows("| option |") for name in re.findall(r"`(\w+)`", row[0])
    ]
    of_request = [one for one in inspect.signature(Request).parameters.values() if one.name != "text"]
    assert defaults == [(one.name, repr(one.default)) for one in of_request]


@pytest.mark.parametrize(
    ("kind", "heading"),
    [(ctx.Hit, "The attributes of a `ctx.Hit`"), (ctx.Answer, "The attributes of a\n`ctx.Answer`")],
)
def test_the_page_has_every_attribute(kind: type, heading: str) -> None:
    listed = {name for row in rows(heading) for name in re.findall(r"`(\w+)`", row[0])}
    assert listed == {name for name in dir(kind) if not name.startswith("_")} - {"reader"}


def test_dir_has_the_public_names() -> None:
    assert dir(ctx) == sorted(ctx.__all__)


def test_options_are_the_fields_of_a_request(repo: Repo) -> None:
    with ctx.open(repo.path) as index:
        unknown: dict[str, Any] = {"unknown": True}
        with pytest.raises(TypeError, match="unknown"):
            index.search("a session", **unknown)
        in_range: dict[str, Any] = {"within": "HEAD~1..HEAD"}
        with pytest.raises(ctx.UsageError, match="within is an option of search only"):
            index.related("src/dates.py:1", **in_range)
        models: dict[str, Any] = {"models": ModelOptions()}
        with pytest.raises(ctx.UsageError, match="models is an option of search only"):
            index.search_files("a session", **models)
    assert Request(text="a") == Request(text="a", limit=10)
    with pytest.raises(AttributeError):
        Request(text="a").text = "b"


def test_answers_are_values(repo: Repo) -> None:
    with ctx.open(repo.path) as index:
        one, other = index.search("renew a session"), index.search("renew a session")
        assert one.hits == other.hits
        hit = one.hits[0]
        assert (hit.path, hit.lines, hit.text) == ("src/sessions.py", (1, 3), SESSIONS.rstrip("\n"))
        assert hit.blob == repo.id("HEAD:src/sessions.py").hex()
        assert (one.commit, one.tree) == (repo.id().hex(), repo.id("HEAD^{tree}").hex())
        with pytest.raises(AttributeError):
            hit.path = "other"
