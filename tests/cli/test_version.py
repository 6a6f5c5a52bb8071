"""The commit and the channel that the program reports."""

from __future__ import annotations

import pytest

from ctx import _version


def test_commit_of_a_checkout(repo):
    commit = repo.commit({"a": "1"}).hex()
    assert _version.checkout_commit(str(repo.path)) == commit
    repo.git("tag", "-a", "v1", "-m", "a tag must not take its place")
    assert _version.checkout_commit(str(repo.path)) == commit
    repo.write({"a": "2"})
    assert _version.checkout_commit(str(repo.path)) == f"{commit}-dirty"


def test_sources_inside_another_repository_are_no_checkout(repo):
    repo.commit({"vendor/git-ctx/a": "1"})
    assert _version.checkout_commit(str(repo.path / "vendor" / "git-ctx")) is None


def test_repository_of_a_hook_is_not_taken_for_it(make_repo, monkeypatch):
    mine, other = make_repo("mine"), make_repo("other")
    commit = mine.commit({"a": "1"}).hex()
    other.commit({"b": "2"})
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other.path / ".git/objects"))
    assert _version.checkout_commit(str(mine.path)) == commit


@pytest.mark.parametrize("broken", ["unborn", "empty .git", "no git"])
def test_a_commit_that_git_does_not_know_is_unknown(broken, repo, tmp_path, monkeypatch):
    place = repo.path
    if broken == "empty .git":
        place = tmp_path / "other"
        (place / ".git").mkdir(parents=True)
    if broken == "no git":
        repo.commit({"a": "1"})
        monkeypatch.setenv("PATH", "")
    assert _version.checkout_commit(str(place)) is None


def test_channel(repo, monkeypatch):
    commit = repo.commit({"a": "1"}).hex()
    assert _version.channel(_version.checkout_commit(str(repo.path))) == "checkout"
    repo.write({"a": "2"})
    assert _version.channel(_version.checkout_commit(str(repo.path))) == "modified"
    assert _version.channel("unknown") == "unknown"
    monkeypatch.setattr(_version, "COMMIT", commit)
    assert _version.channel(_version.commit()) == "package"
    monkeypatch.setattr(_version, "COMMIT", f"{commit}-dirty")
    assert _version.channel(_version.commit()) == "modified"


def test_the_stamp_comes_first(monkeypatch):
    monkeypatch.setattr(_version, "COMMIT", "f" * 40)
    assert _version.commit() == "f" * 40
