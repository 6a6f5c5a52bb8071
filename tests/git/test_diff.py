"""Differences between two trees equal those of `git diff`, independent of settings and attributes."""

from __future__ import annotations

from collections.abc import Callable

from repositories import Repo

from ctx.git.diff import FileChange, Hunk, changed_files
from ctx.git.repository import open_repository


def differing(repo: Repo, old: str = "HEAD~1", new: str = "HEAD") -> dict[bytes, FileChange]:
    found = changed_files(open_repository(repo.path), repo.id(f"{old}^{{tree}}"), repo.id(f"{new}^{{tree}}"))
    return {change.new_path or change.old_path or b"": change for change in found}


def lines(*numbers: int) -> str:
    return "".join(f"line {number}\n" for number in numbers)


def test_every_kind_of_change(repo: Repo) -> None:
    repo.commit(
        {
            "edited": lines(*range(1, 21)),
            "gone": lines(1, 2, 3),
            "moved": lines(*range(50, 90)),
            "moved and edited": lines(*range(100, 140)),
            "same": lines(1),
            "tool": lines(7, 8),
            "kind": lines(9),
            b'odd \xff "name\n@@ -1 +1 @@': lines(1, 2),
        }
    )
    repo.git("mv", "moved", "moved to")
    repo.git("mv", "moved and edited", "moved and edited to")
    (repo.path / "kind").unlink()
    (repo.path / "kind").symlink_to("same")
    (repo.path / "tool").chmod(0o755)
    repo.commit(
        {
            "edited": lines(1, 2, 3, 30, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21),
            "gone": None,
            "come": lines(400, 401),
            "moved and edited to": lines(*range(100, 120), 0, *range(120, 140)),
            b'odd \xff "name\n@@ -1 +1 @@': lines(1, 3),
            "empty": "",
        }
    )
    found = differing(repo)
    assert found[b"edited"].hunks == [Hunk(4, 1, 4, 1), Hunk(8, 2, 7, 0), Hunk(20, 0, 19, 1)]
    assert found[b"gone"][2:5] == (None, None, [Hunk(1, 3, 0, 0)])
    assert found[b"come"][:2] == (None, None)
    assert found[b"come"].hunks == [Hunk(0, 0, 1, 2)]
    assert found[b"empty"].hunks == []
    assert (found[b"moved to"].old_path, found[b"moved to"].hunks) == (b"moved", [])
    edited = found[b"moved and edited to"]
    assert (edited.old_path, edited.hunks) == (b"moved and edited", [Hunk(20, 0, 21, 1)])
    assert found[b"tool"].hunks == []
    assert found[b'odd \xff "name\n@@ -1 +1 @@'].hunks == [Hunk(2, 1, 2, 1)]
    assert b"same" not in found
    assert differing(repo, "HEAD", "HEAD") == {}


def test_file_that_becomes_a_link_is_removed(repo: Repo) -> None:
    repo.commit({"a": lines(1, 2), "kind": lines(9), "z": lines(5)})
    (repo.path / "kind").unlink()
    (repo.path / "kind").symlink_to("a")
    repo.commit({"z": lines(6)})
    found = changed_files(open_repository(repo.path), repo.id("HEAD~1^{tree}"), repo.id("HEAD^{tree}"))
    assert [(change.old_path, change.new_path, change.hunks) for change in found] == [
        (b"kind", None, [Hunk(1, 1, 0, 0)]),
        (None, b"kind", [Hunk(0, 0, 1, 1)]),
        (b"z", b"z", [Hunk(1, 1, 1, 1)]),
    ]


def test_files_with_binary_attribute_are_compared_on_request(repo: Repo) -> None:
    repo.commit({".gitattributes": "*.lock -diff\n*.x diff=odd\n", "a.lock": lines(1, 2), "a.x": lines(1)})
    repo.git("config", "diff.odd.textconv", "false")
    repo.git("config", "diff.odd.command", "false")
    repo.commit({"a.lock": lines(1, 3), "a.x": lines(2), "a.bin": b"\0\1"})
    assert {path: change.hunks for path, change in differing(repo).items()} == {
        b"a.lock": [Hunk(2, 1, 2, 1)],
        b"a.x": [Hunk(1, 1, 1, 1)],
        b"a.bin": [Hunk(0, 0, 1, 1)],
    }
    trees = repo.id("HEAD~1^{tree}"), repo.id("HEAD^{tree}")
    unwanted = changed_files(open_repository(repo.path), *trees, lambda change: False)
    assert [change.hunks for change in unwanted] == [None, None, [Hunk(1, 1, 1, 1)]]


def test_settings_have_no_effect(make_repo: Callable[..., Repo]) -> None:
    repo = make_repo()
    repo.commit({"a": lines(*range(30)), "b": lines(1)})
    repo.git("mv", "b", "c")
    repo.commit({"a": lines(*range(10), 99, *range(10, 30))})
    before = differing(repo)
    for name, value in (
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.renames", "false"),
        ("diff.context", "9"),
        ("diff.interHunkContext", "9"),
        ("diff.external", "false"),
        ("diff.orderFile", "/nowhere"),
        ("color.ui", "always"),
        ("color.diff", "always"),
        ("core.quotePath", "true"),
        ("diff.suppressBlankEmpty", "true"),
        ("diff.submodule", "log"),
        ("diff.relative", "true"),
        ("core.pager", "false"),
    ):
        repo.git("config", name, value)
    assert differing(repo) == before
    assert before[b"a"].hunks == [Hunk(10, 0, 11, 1)]


def test_more_paths_than_fit_on_a_command_line(repo: Repo) -> None:
    """All files have the attribute `-diff`; their paths together exceed the limit of a command line."""
    names = [f"{'deep/' * 30}{'x' * 90}{number}.py" for number in range(10_000)]
    repo.write({".gitattributes": "*.py -diff\n"})
    stream = b"".join(
        b"commit refs/heads/main\ncommitter a <a> %d +0000\ndata 0\n%s\n"
        % (
            number,
            b"".join(
                b"M 100644 inline %s\ndata %d\n%s\n" % (name.encode(), len(text), text) for name in names
            ),
        )
        for number, text in enumerate((b"a = 1", b"a = 2"))
    )
    repo.git("fast-import", "--quiet", stdin=stream)
    found = differing(repo, "main~1", "main")
    assert len(found) == len(names)
    assert {tuple(change.hunks or ()) for change in found.values()} == {(Hunk(1, 1, 1, 1),)}
