"""The JSON about model services has the keys of the examples in docs/json.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from repositories import Repo
from service_project import ROOT, configure, git_ctx, source

PAGE = (ROOT / "docs/json.md").read_text(encoding="utf-8")


def example(kind: str) -> Any:
    """Return the first object of this type on the page."""
    return json.JSONDecoder().raw_decode(PAGE, PAGE.index(f'{{"type": "{kind}"'))[0]


def printed(repo: Repo, *arguments: str) -> Any:
    """Return the last object that the program prints; it must succeed."""
    run = git_ctx(repo.path, *arguments, "--json")
    assert run.status == 0, run
    return run.json


def test_indexing_pushing_fetching_and_verifying(project: Repo, service: Any, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    project.git("clone", "--quiet", "--bare", str(project.path), str(remote))
    project.git("remote", "add", "origin", str(remote))
    found, promised = printed(project, "index"), example("finished")
    assert set(found) == set(promised)
    assert set(found["remote"]) == set(promised["remote"])
    assert set(printed(project, "push", "--with-words")) == set(example("push_result"))
    project.git("clone", "--quiet", str(remote), str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    configure(other, service)
    found, promised = printed(other, "fetch"), example("fetch_result")
    assert set(found) == set(promised)
    assert set(found["words"]) == set(promised["words"])
    assert set(found["remote"]) == set(promised["remote"])
    found = printed(other, "fetch")
    assert set(found) == set(promised)
    assert found["words"] is None
    found, promised = printed(other, "verify", "--sample", "1"), example("verify_result")
    assert set(found) == set(promised)
    assert set(found["remote"]) == set(promised["remote"])


def test_accounts_requests_and_stored_vectors(project: Repo) -> None:
    printed(project, "index")
    project.commit({"src/more.py": source("more", 1)})
    for arguments, kind, field in (
        (("model", "account"), "account_result", "services"),
        (("model", "privacy"), "privacy_result", "sent"),
    ):
        found, promised = printed(project, *arguments), example(kind)
        assert set(found) == set(promised)
        assert [set(one) for one in found[field]] == [set(promised[field][0])]
    (stored,) = printed(project, "status")["remoteModels"]
    row = next(line for line in PAGE.splitlines() if line.startswith("| `remoteModels`"))
    own = {*stored, *stored["head"]}
    assert own <= set(re.findall(r"\w+", row))
