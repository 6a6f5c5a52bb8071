"""`git ctx search --in`: what differs, for eyes and for programs."""

from __future__ import annotations

import pytest
from small_project import GitCtx, Project

RETRY = """package retry

import "time"

// Backoff calls f until it succeeds, and waits longer after each failure.
func Backoff(f func() error, first time.Duration) error {
	wait := first
	for i := 0; i < 9; i++ {
		if err := f(); err == nil {
			return nil
		}
		time.Sleep(wait)
		wait *= 3
	}
	return f()
}
"""


@pytest.fixture
def changed(project: Project) -> Project:
    """The project with a second commit that changes one file and takes another away."""
    project.repo.commit({"src/retry.go": RETRY, "docs/guide.md": None})
    return project


def test_text_marks_the_lines_that_differ(git_ctx: GitCtx, changed: Project) -> None:
    run = git_ctx("search", "--in", "HEAD~1..HEAD", "wait after failure", cwd=changed.path)
    assert run.status == 0
    head = next(place for place, line in enumerate(run.lines) if line.startswith("src/retry.go:"))
    assert run.lines[head + 2] == "    modified, lines 5, 8, 13"
    marked = [line for line in run.lines if line.startswith("  + ")]
    assert [line.split(None, 2)[1] for line in marked] == ["5", "8", "13"]
    old = changed.git("rev-parse", "--short=12", "HEAD~1")
    assert run.lines[-1].startswith("-- ")
    assert f"against HEAD~1 {old}: 2 files differ, chunks: 0 added, 1 modified, 1 removed" in run.lines[-1]
    gone = git_ctx("search", "--in", "HEAD^!", "--removed", "invoices", cwd=changed.path)
    assert gone.lines[0].startswith("docs/guide.md:1-7")
    assert gone.lines[2] == "    removed, lines 1-7 of the old text"
    assert sum(line.startswith("  - ") for line in gone.lines) == 7


def test_json_has_the_lines_and_the_other_tree(git_ctx: GitCtx, changed: Project) -> None:
    answer = git_ctx("search", "--json-output", "--in", "HEAD^!", "wait", cwd=changed.path).json
    hit = next(hit for hit in answer["results"] if hit["symbol"] == "Backoff")
    assert hit["change"] == {"state": "modified", "side": "new", "changedLines": [[5, 5], [8, 8], [13, 13]]}
    assert answer["comparison"] == {
        "range": "HEAD^!",
        "revision": changed.git("rev-parse", "HEAD~1"),
        "revisionName": "HEAD^",
        "commit": changed.git("rev-parse", "HEAD~1"),
        "tree": changed.git("rev-parse", "HEAD~1^{tree}"),
        "files": 2,
        "added": 0,
        "modified": 1,
        "removed": 1,
    }
    plain = git_ctx("search", "--json-output", "wait", cwd=changed.path).json
    assert "comparison" not in plain
    assert "change" not in plain["results"][0]


def test_a_state_alone_is_since_head(git_ctx: GitCtx, changed: Project) -> None:
    none = git_ctx("search", "--added", "wait", cwd=changed.path)
    assert (none.status, none.lines[0]) == (1, "nothing differs in HEAD")
    changed.repo.write({"src/fresh.py": "def wait_for_it():\n    return 'wait'\n"})
    found = git_ctx("search", "--added", "wait", cwd=changed.path)
    assert found.lines[0] == "src/fresh.py:1-2:wait_for_it"
    assert git_ctx("search", "--added", "--staged", "wait", cwd=changed.path).status == 1
    changed.git("add", "src/fresh.py")
    assert git_ctx("search", "--added", "--staged", "wait", cwd=changed.path).status == 0
    assert git_ctx("search", "--removed", "--staged", "wait", cwd=changed.path).status == 1


def test_colours_mark_the_lines_too(git_ctx: GitCtx, changed: Project) -> None:
    run = git_ctx("search", "--color=always", "--in", "HEAD^!", "wait after failure", cwd=changed.path)
    assert "modified, lines 5, 8, 13" in run.text
    assert "\x1b[2m+  8  " in run.text


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--in", "HEAD~1..HEAD", "--revision", "HEAD"], 129, "--in names its trees"),
        (["--in", "HEAD", "--branch", "main"], 129, "--in names its trees"),
        (["--in", "HEAD", "--no-overlay"], 129, "--in goes with"),
        (["--added", "--revision", "HEAD"], 129, "--in names its trees"),
        (["--in", "HEAD~1..HEAD", "--staged"], 129, "names both ends"),
        (["--in", ""], 129, "range is empty"),
        (["--in", "absent..HEAD"], 128, "'absent' names no commit"),
        (["--revision", "HEAD~1..HEAD"], 128, "search what differs in it with --in HEAD~1..HEAD"),
    ],
)
def test_options_that_exclude_each_other(
    git_ctx: GitCtx, changed: Project, arguments: list[str], status: int, words: str
) -> None:
    run = git_ctx("search", "wait", *arguments, cwd=changed.path)
    assert run.status == status
    assert words in run.err
