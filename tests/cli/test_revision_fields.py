"""`revision` is an id and `revisionName` what was asked for, in every object that a program reads."""

from __future__ import annotations

from typing import Any

import pytest
from small_project import GitCtx, Project

QUESTION = ("renew", "a", "session")


@pytest.fixture
def tagged(project: Project) -> Project:
    project.git("tag", "-a", "v1.2", "-m", "a release")
    return project


def printed(git_ctx: GitCtx, project: Project, *arguments: str) -> Any:
    return git_ctx(*arguments, cwd=project.path).json


COMMANDS: list[tuple[str, ...]] = [
    ("search", "--json-output", "--revision", "{}", *QUESTION),
    ("search", "--json", "--revision", "{}", *QUESTION),
    ("search", "--explain", "--json", "--revision", "{}", *QUESTION),
    ("related", "--json-output", "--revision", "{}", "{code}:5"),
    ("explain", "{code}", "--json", "--revision", "{}", "--task", " ".join(QUESTION)),
    ("pack", "--json", "--revision", "{}", "--task", " ".join(QUESTION)),
    ("plan", "--json-output", "{}"),
]


def with_name(command: tuple[str, ...], name: str, code: str) -> list[str]:
    return [word.replace("{code}", code).replace("{}", name) for word in command]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:3]))
def test_every_command_prints_the_id_and_the_name(
    git_ctx: GitCtx, tagged: Project, command: tuple[str, ...]
) -> None:
    code = tagged.git("ls-files", "*.py").split("\n")[0]
    commit, tree = tagged.git("rev-parse", "HEAD"), tagged.git("rev-parse", "HEAD^{tree}")
    found = printed(git_ctx, tagged, *with_name(command, "v1.2", code))
    assert (found["revision"], found["revisionName"]) == (commit, "v1.2")
    assert (found["commit"], found["tree"]) == (commit, tree)
    found = printed(git_ctx, tagged, *with_name(command, tree, code))
    assert (found["revision"], found["revisionName"], found["commit"]) == (tree, tree, None)


def test_history_ranges_and_the_log_print_them_too(git_ctx: GitCtx, tagged: Project) -> None:
    commit, tree = tagged.git("rev-parse", "HEAD"), tagged.git("rev-parse", "HEAD^{tree}")
    ids = {"revision": commit, "revisionName": "v1.2", "commit": commit, "tree": tree}
    found = printed(git_ctx, tagged, "history", "--json-output", "--revision", "v1.2", *QUESTION)
    assert ids.items() <= found.items()
    found = printed(git_ctx, tagged, "search", "--json-output", "--in", "v1.2", *QUESTION)
    assert ids.items() <= found["comparison"].items()
    printed(git_ctx, tagged, "index", "v1.2", "--json-output")
    (snapshot,) = printed(git_ctx, tagged, "status", "--json-output")["snapshots"]
    assert snapshot["provenance"]
    assert all(ids.items() <= line.items() for line in snapshot["provenance"])
    (pin,) = printed(git_ctx, tagged, "pin", "v1.2", "--json-output")["pinned"]
    assert (pin["revision"], pin["revisionName"]) == (tree, "v1.2")


@pytest.mark.parametrize("command", ["index", "plan", "pin", "evaluate", "verify"])
def test_a_revision_is_an_argument_or_an_option(git_ctx: GitCtx, tagged: Project, command: str) -> None:
    tagged.commit({"src/more.py": "def more(value):\n    return value + 1\n"})
    git_ctx("index", "v1.2", cwd=tagged.path)
    runs = [
        git_ctx(command, *words, "--json", cwd=tagged.path) for words in (["v1.2"], ["--revision", "v1.2"])
    ]
    assert [run.status for run in runs] == [0, 0]
    last = [run.json_lines[-1] for run in runs]
    for one in last:
        one.pop("seed", None)
    assert last[0] == last[1]
    assert git_ctx(command, "--revision", "no-such", cwd=tagged.path).status == 128


def test_help_of_history_offers_no_tree(git_ctx: GitCtx, tagged: Project) -> None:
    assert "tree" not in git_ctx("history", "-h").text
    found = git_ctx("history", "renew", "--revision", "HEAD^{tree}", cwd=tagged.path)
    assert (found.status, found.out) == (129, b"")
    assert "is a tree, which has no history" in found.err


@pytest.mark.parametrize("command", ["push", "fetch"])
def test_a_revision_in_place_of_the_remote(git_ctx: GitCtx, tagged: Project, command: str) -> None:
    found = git_ctx(command, "v1.2", cwd=tagged.path)
    assert found.status == 129
    assert "'v1.2' is a revision and no remote (known: none); give a revision with --revision" in found.err


def test_uncommitted_files_lie_on_the_commit_of_head(git_ctx: GitCtx, tagged: Project) -> None:
    commit = tagged.git("rev-parse", "HEAD")
    clean = printed(git_ctx, tagged, "search", "--json-output", *QUESTION)
    assert (clean["revision"], clean["revisionName"], clean["message"]) == (commit, "main", None)
    tagged.repo.write({"fresh.py": "def renew_a_session():\n    pass\n"})
    found = printed(git_ctx, tagged, "search", "--json-output", *QUESTION)
    assert (found["revision"], found["revisionName"]) == (commit, "main")
    assert found["tree"] != clean["tree"]
    assert found["message"] == "main with 1 file not committed"
    tagged.git("checkout", "-q", "--detach")
    assert printed(git_ctx, tagged, "search", "--json-output", *QUESTION)["revisionName"] == "HEAD"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("search", "--json-output", "--lang", "rust"), "no file of this tree is in rust"),
        (("search", "--json", "--lang", "rust"), "no file of this tree is in rust"),
        (("search", "--explain", "--json", "--lang", "rust"), "no file of this tree is in rust"),
        (("history", "--json-output", "--author", "nobody"), "no commit of main answers this"),
        (("related", "--json-output", "--in", "HEAD"), "nothing in main answers this"),
    ],
)
def test_the_message_if_nothing_is_found(
    git_ctx: GitCtx, tagged: Project, command: tuple[str, ...], message: str
) -> None:
    words = () if command[0] == "related" else QUESTION
    found = git_ctx(*command, *words, cwd=tagged.path)
    assert (found.status, found.json["message"]) == (1, message)
