"""Submodules are searched from their own stores as part of the tree that pins them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.types import COMMITTED, STAGED, Answer, Submodule

MakeRepo = Callable[..., Repo]
Program = Callable[..., "subprocess.CompletedProcess[str]"]

QUERIES = ("renew the session of a user", "def widget_area", "Rope", "how is a rope cut", "colour")
COMMON = "def colour_of(thing):\n    return thing.paint.colour\n"
DEEP = {"knot.go": "package knot\n\n// Tie ties a rope.\nfunc Tie(rope int) int {\n\treturn rope + 1\n}\n"}
LIB = {
    "rope.py": "class Rope:\n    def cut(self, where):\n        return self.parts[:where]\n",
    "src/area.py": "def widget_area(widget):\n    return widget.width * widget.height\n",
    "tests/test_rope.py": "def test_rope():\n    assert Rope().cut(1)\n",
    "colours.py": COMMON,
    "logo.png": b"\x89PNG",
}
TOP = {
    "session.py": "def renew_session(user):\n    return user.session.renew()\n",
    "paint.py": COMMON,
    "docs/rope.md": "# Rope\n\nHow a rope is cut by the widget.\n",
    "empty.py": "",
}
ALLOW = ("-c", "protocol.file.allow=always")


class Project:
    """A repository with a submodule `lib`, which has a submodule `deep`; all are checked out."""

    def __init__(self, make_repo: MakeRepo) -> None:
        self.deep = make_repo("deep-origin")
        self.deep.commit(DEEP)
        self.lib = make_repo("lib-origin")
        self.lib.commit(LIB)
        self.lib.git(*ALLOW, "submodule", "--quiet", "add", str(self.deep.path), "deep")
        self.lib.commit()
        self.top = make_repo("top")
        self.top.commit(TOP)
        self.top.git(*ALLOW, "submodule", "--quiet", "add", str(self.lib.path), "lib")
        self.top.git(*ALLOW, "submodule", "--quiet", "update", "--init", "--recursive")
        self.top.commit()
        self.checkout = Repo(self.top.path / "lib")


@pytest.fixture
def project(make_repo: MakeRepo) -> Project:
    return Project(make_repo)


def ask(path: Path, query: str = QUERIES[0], **options: object) -> Answer:
    with ctx.open(path) as index:
        return index.search(query, recurse_submodules=True, **options)  # type: ignore[arg-type]


def paths(answer: Answer) -> set[str]:
    return {hit.path for hit in answer.hits}


def flat(project: Project, make_repo: MakeRepo) -> Repo:
    """The same files in one repository."""
    repo = make_repo("flat")
    listed = {".gitmodules": project.top.git("show", "HEAD:.gitmodules") + b"\n"}
    inner = {"lib/.gitmodules": project.lib.git("show", "HEAD:.gitmodules") + b"\n"}
    lib = {f"lib/{name}": text for name, text in LIB.items()}
    repo.commit(
        {**TOP, **listed, **lib, **inner, **{f"lib/deep/{name}": text for name, text in DEEP.items()}}
    )
    return repo


@pytest.mark.parametrize("overlay", [None, COMMITTED])
def test_answer_equals_that_of_one_tree_with_all_files(
    project: Project, make_repo: MakeRepo, overlay: str | None
) -> None:
    repo = flat(project, make_repo)
    for query in QUERIES:
        for options in (
            {},
            {"paths": ["lib"]},
            {"paths": ["*.py", ":!lib/tests"]},
            {"languages": ["go"]},
            {"limit": 2},
        ):
            joined = ask(project.top.path, query, overlay=overlay, **options)
            with ctx.open(repo.path) as index:
                plain = index.search(query, overlay=overlay, **options)  # type: ignore[arg-type]
            assert joined.hits == plain.hits
            assert joined.coverage == plain.coverage
            assert joined.message == plain.message
    assert joined.tree == project.top.id("HEAD^{tree}").hex()
    lib, deep = joined.submodules
    for one, path, repository in ((lib, "lib", project.lib), (deep, "lib/deep", project.deep)):
        commit, tree = repository.id().hex(), repository.id("HEAD^{tree}").hex()
        assert one == Submodule(path=path, pinned=commit, commit=commit, tree=tree)


def test_equal_texts_in_several_repositories_are_one_hit(project: Project) -> None:
    (hit,) = [hit for hit in ask(project.top.path, "colour_of").hits if hit.symbol == "colour_of"]
    assert (hit.path, hit.also_at) == ("lib/colours.py", ("paint.py",))


def test_texts_and_citations_of_submodules(project: Project) -> None:
    with ctx.open(project.top.path) as index:
        for query in QUERIES:
            for hit in index.search(query, recurse_submodules=True).hits:
                text = hit.text
                assert text
                lines = (project.top.path / os.fsdecode(hit.path)).read_text().split("\n")
                assert text.strip() in "\n".join(lines[hit.position.start_line - 1 : hit.position.end_line])
        hit = index.search("Tie ties a rope", recurse_submodules=True).hits[0]
        assert hit.path == "lib/deep/knot.go"
        cited = index.cited(f"{hit.blob}:{hit.position.start_line}-{hit.position.end_line}")
        assert cited.paths == ("lib/deep/knot.go",)
        assert "func Tie" in cited.text
        assert index.search("Tie ties a rope").submodules == ()


def test_each_store_has_only_its_files(project: Project) -> None:
    ask(project.top.path)
    modules = project.top.path / ".git/modules"
    counts = []
    for place in (project.top.path / ".git", modules / "lib", modules / "lib/modules/deep"):
        counts.append(len(list((place / "ctx/objects").glob("*/*/*"))))
    assert counts == [1, 1, 1]
    for place in (project.checkout.path, project.checkout.path / "deep"):
        with ctx.open(place) as index:
            assert index.index().skipped == "ALREADY_INDEXED"


def test_submodules_are_only_counted_without_the_option(project: Project) -> None:
    with ctx.open(project.top.path) as index:
        answer = index.search("Rope", limit=50)
    assert not [path for path in paths(answer) if path.startswith("lib/")]
    assert (answer.coverage.skipped["submodule"], answer.submodules) == (1, ())


def test_older_revision_uses_its_pinned_commit(project: Project) -> None:
    before = project.lib.id()
    project.lib.commit({"rope.py": "class Cable:\n    pass\n"})
    project.checkout.git(*ALLOW, "pull", "--quiet")
    project.top.commit()
    old, new = (ask(project.top.path, "Rope", revision=name) for name in ("HEAD~1", "HEAD"))
    assert [one.commit for one in old.submodules][:1] == [before.hex()]
    assert ("lib/rope.py", "Rope") in {(hit.path, hit.symbol) for hit in old.hits}
    assert ("lib/rope.py", "Cable") in {(hit.path, hit.symbol) for hit in new.hits}
    assert ("lib/rope.py", "Rope") not in {(hit.path, hit.symbol) for hit in new.hits}
    assert old.message is new.message is None


def test_uncommitted_files_of_a_submodule_are_searched(project: Project) -> None:
    project.checkout.write(
        {"rope.py": "class Hawser:\n    pass\n", "new.py": "def splice_hawser():\n    pass\n"}
    )
    answer = ask(project.top.path, "hawser")
    assert {"lib/rope.py", "lib/new.py"} <= paths(answer)
    assert answer.submodules[0].commit == project.lib.id().hex()
    assert answer.submodules[0].tree != project.lib.id("HEAD^{tree}").hex()
    assert answer.message is None
    with ctx.open(project.top.path) as index:
        hit = index.search("splice_hawser", recurse_submodules=True).hits[0]
        assert hit.text == "def splice_hawser():\n    pass"
    committed = ask(project.top.path, "hawser", overlay=COMMITTED)
    assert "lib/new.py" not in paths(committed)
    assert committed.submodules[0].tree == project.lib.id("HEAD^{tree}").hex()


def test_submodule_at_another_commit_is_reported(project: Project) -> None:
    project.checkout.commit({"rope.py": "class Hawser:\n    pass\n"})
    answer = ask(project.top.path, "hawser")
    assert "Hawser" in {hit.symbol for hit in answer.hits}
    here, pinned = project.checkout.id().hex()[:12], project.lib.id().hex()[:12]
    assert answer.message == (
        f"the submodule lib was searched as it is checked out, at {here}; {pinned} is pinned"
    )
    committed = ask(project.top.path, "hawser", overlay=COMMITTED)
    assert "Hawser" not in {hit.symbol for hit in committed.hits}
    assert committed.message is None
    project.top.git("add", "lib")
    staged = ask(project.top.path, "hawser", overlay=STAGED)
    assert staged.tree == project.top.git("write-tree").decode()
    assert staged.submodules[0].commit == project.checkout.id().hex()
    assert "Hawser" in {hit.symbol for hit in staged.hits}


def test_missing_submodule_is_reported_and_not_fetched(
    project: Project, tmp_path: Path, program: Program
) -> None:
    subprocess.run(["git", "clone", "-q", str(project.top.path), str(tmp_path / "clone")], check=True)
    clone = tmp_path / "clone"
    answer = ask(clone, "Rope")
    assert answer.submodules == (
        Submodule(path="lib", pinned=project.lib.id().hex(), problem="not checked out"),
    )
    assert answer.message == (
        "the submodule lib is not checked out and was not searched: "
        "`git submodule update --init --recursive` brings it"
    )
    assert answer.coverage.skipped["submodule"] == 1
    assert not (clone / ".git/modules").exists()
    done = program("search", "Rope", "--recurse-submodules", cwd=clone)
    assert "; 0 of 1 submodule searched;" in done.stdout.splitlines()[-1]
    done = program("search", "Rope", "--recurse-submodules", "--json-output", cwd=clone)
    assert json.loads(done.stdout)["submodules"] == [
        {
            "relativePath": "lib",
            "pinned": project.lib.id().hex(),
            "commit": None,
            "tree": None,
            "problem": "not checked out",
        }
    ]
    done = program("index", "--recurse-submodules", cwd=clone)
    assert done.returncode == 0
    assert "warning: the submodule lib is not checked out" in done.stderr


def test_missing_commit_is_reported(project: Project) -> None:
    project.top.git("update-index", "--cacheinfo", f"160000,{'5' * 40},lib")
    project.top.git("commit", "--quiet", "--message", "pin what nobody has")
    answer = ask(project.top.path, "Rope", overlay=COMMITTED)
    assert [one.problem for one in answer.submodules] == ["commit not here"]
    assert answer.message is not None
    assert "lib is here without the commit that is pinned" in answer.message
    assert "`git submodule update --recursive`" in answer.message


def test_unlisted_submodule_is_counted(project: Project) -> None:
    project.top.git("rm", "--quiet", "--cached", ".gitmodules")
    project.top.git("commit", "--quiet", "--message", "forget the list")
    answer = ask(project.top.path, "Rope", overlay=COMMITTED)
    assert (answer.submodules, answer.coverage.skipped["submodule"]) == ((), 1)
    assert answer.message is not None
    assert "1 submodule has no entry in .gitmodules" in answer.message


@pytest.mark.parametrize("rule", [{".ctxignore": "lib/\n"}, {".gitattributes": "lib -ctx\n"}])
def test_rule_excludes_a_submodule(project: Project, rule: dict[str, str]) -> None:
    project.top.commit(rule)
    answer = ask(project.top.path, "Rope", limit=50)
    assert [one.problem for one in answer.submodules] == ["left out"]
    assert not [path for path in paths(answer) if path.startswith("lib/")]
    assert answer.message is None


def test_rules_of_a_submodule_apply_inside_it(project: Project) -> None:
    project.checkout.commit({".ctxignore": "src/\n"})
    project.top.commit({".ctxignore": "docs/\n"})
    answer = ask(project.top.path, "widget_area", limit=50)
    assert not [path for path in paths(answer) if path.startswith(("lib/src/", "docs/"))]
    assert answer.coverage.skipped["ignored"] == 2


@pytest.mark.parametrize("name", ["../../outside", "a/../../../outside", "", "..", "/tmp"])
def test_name_cannot_leave_the_git_directory(
    project: Project, make_repo: MakeRepo, tmp_path: Path, name: str
) -> None:
    outside = make_repo("outside")
    commit = outside.commit({"secret.py": "def secret_session():\n    pass\n"})
    shutil.copytree(outside.path / ".git", project.top.path / ".git/outside")
    repo = make_repo("evil")
    listed = f'[submodule "{name}"]\n\tpath = sub\n\turl = ./sub\n'
    repo.commit({".gitmodules": listed, "a.py": "x = 1\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit.hex()},sub")
    repo.git("commit", "--quiet", "--message", "a submodule")
    shutil.copytree(outside.path / ".git", repo.path / "outside")
    answer = ask(repo.path, "secret session", overlay=COMMITTED)
    assert "sub/secret.py" not in paths(answer)
    assert answer.message


def test_link_is_not_a_submodule(project: Project, make_repo: MakeRepo) -> None:
    outside = make_repo("outside")
    commit = outside.commit({"secret.py": "def secret_session():\n    pass\n"})
    repo = make_repo("evil")
    repo.commit({".gitmodules": '[submodule "sub"]\n\tpath = dir/sub\n\turl = ./sub\n', "a.py": "x = 1\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit.hex()},dir/sub")
    repo.git("commit", "--quiet", "--message", "a submodule")
    (repo.path / "dir").mkdir(exist_ok=True)
    (repo.path / "dir/sub").symlink_to(outside.path)
    assert "dir/sub/secret.py" not in paths(ask(repo.path, "secret session"))
    shutil.rmtree(repo.path / "dir")
    (repo.path / "dir").symlink_to(outside.path.parent)
    outside.path.rename(outside.path.parent / "sub")
    assert "dir/sub/secret.py" not in paths(ask(repo.path, "secret session"))


@pytest.mark.parametrize(
    "content", [b"[submodule\n", b"\0\xff", b'[submodule "lib"]\n\tpath\n', b"[include]\n\tpath = x\n"]
)
def test_unreadable_gitmodules(project: Project, content: bytes) -> None:
    project.top.commit({".gitmodules": content})
    answer = ask(project.top.path, "Rope", overlay=COMMITTED)
    assert answer.submodules == ()
    assert answer.coverage.skipped["submodule"] == 1


def test_variables_of_a_hook_do_not_reach_submodules(
    project: Project, make_repo: MakeRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.checkout.write({"new.py": "def splice_hawser():\n    pass\n"})
    expected = ask(project.top.path, "splice_hawser")
    monkeypatch.chdir(project.top.path)
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    monkeypatch.setenv("GIT_PREFIX", "")
    monkeypatch.setenv("GIT_WORK_TREE", str(project.top.path))
    answer = ask(project.top.path, "splice_hawser")
    assert answer.hits == expected.hits
    assert answer.submodules == expected.submodules


def test_linked_work_tree_and_bare_clone(project: Project, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    project.top.git("worktree", "add", "--quiet", str(linked))
    answer = ask(linked, "widget_area")
    assert (
        answer.hits == ask(project.top.path, "widget_area").hits
    )  # found by the commit, in the main work tree's
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(project.top.path), str(tmp_path / "bare")], check=True
    )
    assert [one.problem for one in ask(tmp_path / "bare", "widget_area").submodules] == ["not checked out"]


def test_submodule_with_embedded_repository(project: Project, make_repo: MakeRepo) -> None:
    """Git made these before 1.7.8, and `git clone` followed by `git submodule add` still does."""
    git_dir = project.checkout.path / ".git"
    git_dir.unlink()
    shutil.move(project.top.path / ".git/modules/lib", git_dir)
    subprocess.run(["git", "config", "-f", str(git_dir / "config"), "--unset", "core.worktree"], check=True)
    assert "lib/src/area.py" in paths(ask(project.top.path, "widget_area"))
    assert (git_dir / "ctx").is_dir()


def test_command_line(project: Project, program: Program) -> None:
    top = project.top.path
    done = program("index", "--recurse-submodules", cwd=top)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["indexed", "lib:", "lib/deep:"]
    again = program("index", "--recurse-submodules", "--json-output", cwd=top)
    found = [json.loads(line) for line in again.stdout.splitlines()]
    assert [(one["type"], one.get("relativePath")) for one in found] == [
        ("skipped", None),
        ("submodule", "lib"),
        ("submodule", "lib/deep"),
    ]
    assert {one.get("skipped") for one in found[1:]} == {"ALREADY_INDEXED"}
    done = program("search", "widget_area", "--recurse-submodules", "-n", "1", cwd=top)
    assert done.stdout.startswith("lib/src/area.py:1-2:widget_area\n")
    assert "; 2 of 2 submodules searched;" in done.stdout.splitlines()[-1]
    done = program("search", "widget_area", "--recurse-submodules", "-n", "1", "-z", cwd=top / "docs")
    assert done.stdout.startswith("../lib/src/area.py\0")
    done = program("search", "Tie", "--recurse-submodules", "--lang", "go", "--", "lib/deep", cwd=top)
    assert done.stdout.startswith("lib/deep/knot.go:")


def test_damaged_store_of_a_submodule_is_repaired(project: Project) -> None:
    expected = ask(project.top.path, "widget_area")
    for path in (project.top.path / ".git/modules/lib/ctx/objects").glob("*/*/*"):
        path.write_bytes(path.read_bytes()[:40])
    assert ask(project.top.path, "widget_area").hits == expected.hits
