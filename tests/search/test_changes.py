"""A search of a range finds the chunks of the diff, each in its tree, and nothing else."""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import Repo
from ways import program

import ctx
from ctx.errors import CtxError, NothingCommitted, UnknownRevision, UsageError
from ctx.git.unknown import FETCH_ALL
from ctx.types import ADDED, MODIFIED, NEW, OLD, REMOVED, STAGED, Answer, Hit

Shown = tuple[str, str, str]


def function(name: str, *lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    padding = "".join(f"    value_{name}_{number} = {number} * {len(name)}\n" for number in range(40))
    return f"def {name}(value):\n{body}{padding}    return value\n\n\n"


PROSE = "".join(
    f"The price of line {number} is right, as everybody knows who reads it.\n" for number in range(20)
)
BEFORE = {
    "shop.py": function("total_price", "price = value.sum()")
    + function("discount_price", "check_coupon(value)", "price = 2")
    + function("old_price", "price = 3"),
    "kept.py": function("kept_price", "price = 4"),
    "moved.py": function("moved_price", "price = 5") + function("other_price", "price = 6"),
    "notes.md": f"# Notes\n\n{PROSE}\n## History\n\n{PROSE.replace('is', 'was')}",
}
AFTER: dict[str, str | None] = {
    "shop.py": function("total_price", "price = value.total()")
    + function("discount_price", "price = 2")
    + function("new_price", "price = 7"),
    "fresh.py": function("fresh_price", "price = 8"),
    "moved.py": None,
    "place/moved.py": BEFORE["moved.py"],
    "notes.md": f"# Notes\n\n{PROSE}\n## Future\n\n{PROSE.replace('is', 'will be')}",
}
EXPECTED = {
    ("total_price", MODIFIED, NEW),
    ("discount_price", MODIFIED, OLD),  # it only lost a line
    ("old_price", REMOVED, OLD),
    ("new_price", ADDED, NEW),
    ("fresh_price", ADDED, NEW),
    ("Notes > Future", ADDED, NEW),
    ("Notes > History", REMOVED, OLD),
}


def change(repo: Repo, files: dict[str, str | None]) -> None:
    for name, content in files.items():
        path = repo.path / name
        if content is None:
            path.unlink()
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)


@pytest.fixture
def project(repo: Repo) -> Repo:
    repo.commit(BEFORE, "before")
    change(repo, AFTER)
    repo.commit({}, "after")
    return repo


def ask(repo: Repo, within: str, query: str = "price", **options: object) -> Answer:
    with ctx.open(repo.path) as index:
        answer = index.search(query, within=within, limit=100, **options)  # type: ignore[arg-type]
        for hit in answer.hits:
            assert_lines_are_of_the_hit(hit.text, hit)
        return answer


def assert_lines_are_of_the_hit(text: str | None, hit: Hit) -> None:
    assert text is not None
    assert hit.change is not None
    assert hit.change.lines
    for first, last in hit.change.lines:
        assert hit.position.start_line <= first <= last <= hit.position.end_line


def shown(answer: Answer) -> set[Shown]:
    return {(hit.symbol, hit.change.state, hit.change.side) for hit in answer.hits if hit.change}


def test_added_modified_and_removed(project: Repo) -> None:
    answer = ask(project, "HEAD~1..HEAD")
    assert shown(answer) == EXPECTED
    for state in (ADDED, MODIFIED, REMOVED):
        only = ask(project, "HEAD~1..HEAD", states=[state])
        assert shown(only) == {one for one in EXPECTED if one[1] == state}
    both = ask(project, "HEAD~1..HEAD", states=[ADDED, REMOVED])
    assert shown(both) == {one for one in EXPECTED if one[1] != MODIFIED}
    comparison = answer.comparison
    assert comparison is not None
    assert (comparison.files, comparison.added, comparison.modified, comparison.removed) == (3, 3, 2, 2)
    assert comparison.commit == project.id("HEAD~1").hex()
    assert (answer.commit, answer.tree) == (project.id("HEAD").hex(), project.id("HEAD^{tree}").hex())


def test_json_records_name_the_side_of_their_lines(project: Repo) -> None:
    done = program("search", "price", "--in", "HEAD~1..HEAD", "-z", cwd=project.path)
    fields = done.out.decode().split("\0")[:-1]
    hits = [fields[at : at + 7] for at in range(0, len(fields), 7)]
    assert {(symbol, state, side) for _, _, _, symbol, _, state, side in hits} == EXPECTED


def test_a_reversed_range(project: Repo) -> None:
    turned = {ADDED: REMOVED, REMOVED: ADDED, MODIFIED: MODIFIED}
    answer = ask(project, "HEAD..HEAD~1")
    assert {(symbol, turned[state]) for symbol, state, _ in shown(answer)} == {one[:2] for one in EXPECTED}


def test_uncommitted_and_staged_changes(project: Repo) -> None:
    project.git("reset", "-q", "--hard", "HEAD~1")
    change(project, AFTER)
    answer = ask(project, "HEAD")
    assert shown(answer) == EXPECTED
    assert answer.uncommitted is not None
    project.git("add", "fresh.py")
    assert shown(ask(project, "HEAD", overlay=STAGED)) == {("fresh_price", ADDED, NEW)}
    project.commit({})
    assert ask(project, "HEAD").message == "nothing differs in HEAD"
    assert shown(ask(project, "HEAD~1")) == EXPECTED


def test_one_commit_and_the_first_one(project: Repo) -> None:
    assert shown(ask(project, "HEAD^!")) == EXPECTED
    first = ask(project, "HEAD~1^!")
    assert {hit.change and hit.change.state for hit in first.hits} == {ADDED}
    assert {hit.path for hit in first.hits} == set(BEFORE)
    assert first.comparison is not None
    assert first.comparison.revision == "nothing"


def test_three_dots_start_at_the_merge_base(project: Repo) -> None:
    project.branch("topic", "HEAD~1")
    project.commit({"topic.py": function("topic_price", "price = 9")})
    answer = ask(project, "main...topic")
    assert shown(answer) == {("topic_price", ADDED, NEW)}
    assert shown(ask(project, "main...")) == shown(answer)
    two = shown(ask(project, "main..topic"))
    assert ("topic_price", ADDED, NEW) in two
    assert ("old_price", ADDED, NEW) in two


def test_filters_and_limits(project: Repo) -> None:
    assert {hit.path for hit in ask(project, "HEAD~1..HEAD", paths=["shop.py"]).hits} == {"shop.py"}
    assert {hit.language for hit in ask(project, "HEAD~1..HEAD", languages=["markdown"]).hits} == {"markdown"}
    none = ask(project, "HEAD~1..HEAD", paths=["kept.py"])
    assert none.hits == []
    with ctx.open(project.path) as index:
        assert len(index.search("price", within="HEAD~1..HEAD", limit=2).hits) == 2


def test_only_missing_documents_are_embedded(project: Repo) -> None:
    with ctx.open(project.path) as index:
        index.index("HEAD~1")
        index.index("HEAD")
        before = {path: path.stat().st_mtime_ns for path in (project.path / ".git/ctx/objects").rglob("*")}
        index.search("price", within="HEAD~1..HEAD")
        after = {path: path.stat().st_mtime_ns for path in (project.path / ".git/ctx/objects").rglob("*")}
        assert after.keys() == before.keys()


def test_a_copy_of_a_file_has_its_own_path(project: Repo) -> None:
    project.commit({"copy.py": BEFORE["kept.py"]})
    (hit,) = ask(project, "HEAD^!").hits
    assert (hit.path, hit.also_at) == ("copy.py", ("kept.py",))


def test_scores_do_not_depend_on_how_the_trees_were_indexed(project: Repo, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", str(project.path), str(tmp_path / "clone")], check=True)
    clone = Repo(tmp_path / "clone")
    with ctx.open(project.path) as index:
        for revision in ("HEAD", "HEAD~1"):
            index.index(revision)
    assert ask(clone, "HEAD~1..HEAD").hits == ask(project, "HEAD~1..HEAD").hits


@pytest.mark.parametrize(
    ("within", "error", "words"),
    [
        ("", UsageError, "the range is empty"),
        ("a..b..c", UsageError, "is not a range"),
        ("absent..HEAD", UnknownRevision, "'absent' names no commit"),
        ("HEAD..absent", UnknownRevision, "'absent' names no commit"),
        ("HEAD~9..HEAD", UnknownRevision, "goes beyond the history of 'HEAD'"),
        (
            "main...orphan",
            CtxError,
            "no common ancestor here: compare their trees as they are with main..orphan",
        ),
        ("HEAD^{tree}...HEAD", UnknownRevision, "is a tree, which has no history"),
        ("HEAD^{tree}^!", UnknownRevision, "is a tree, which has no parent"),
    ],
)
def test_invalid_ranges(project: Repo, within: str, error: type[CtxError], words: str) -> None:
    project.git("branch", "orphan", project.git("commit-tree", "-m", "alone", "HEAD^{tree}").decode())
    with pytest.raises(error) as raised:
        ask(project, within)
    assert words in str(raised.value)


def test_shallow_bare_and_unborn(project: Repo, tmp_path: Path, make_repo: Callable[..., Repo]) -> None:
    shallow = tmp_path / "shallow"
    url = f"file://{project.path}"
    project.branch("topic", "HEAD~1")
    project.commit({"topic.py": "topic = 1\n"})
    subprocess.run(["git", "clone", "-q", "--depth=1", "--no-single-branch", url, str(shallow)], check=True)
    with pytest.raises(CtxError, match="shallow, `git fetch --unshallow` brings the history"):
        ask(Repo(shallow), "origin/main...origin/topic")
    with pytest.raises(UnknownRevision, match="beyond the end of this shallow clone"):
        ask(Repo(shallow), "HEAD~1..HEAD")
    subprocess.run(["git", "clone", "-q", "--bare", url, str(tmp_path / "bare")], check=True)
    assert shown(ask(Repo(tmp_path / "bare"), "main~1..main")) == EXPECTED
    with pytest.raises(CtxError, match=r"nothing is checked out in .*name both ends, as in main~5\.\.main"):
        ask(Repo(tmp_path / "bare"), "main")
    with pytest.raises(NothingCommitted):
        ask(make_repo("unborn"), "HEAD")


def test_a_partial_clone_reports_missing_objects(project: Repo, tmp_path: Path) -> None:
    project.git("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    url = f"file://{project.path}"
    command = ["git", "clone", "-q", "--filter=blob:none", "--no-checkout", url, str(partial)]
    subprocess.run(command, check=True)
    fetch = "`git ctx index --fetch"
    lacks = f"^HEAD~1 and HEAD cannot be compared.*{fetch} 'HEAD~1'` and {fetch} HEAD` get them$"
    with pytest.raises(CtxError, match=lacks):
        ask(Repo(partial), "HEAD~1..HEAD")
    for revision in ("HEAD~1", "HEAD"):
        assert program("index", "--fetch", revision, cwd=partial).status == 0
    assert shown(ask(Repo(partial), "HEAD~1..HEAD")) == EXPECTED
    # Only one end misses objects now, and a merge base has only its id.
    other = partial.parent / "other"
    subprocess.run([*command[:-1], str(other)], check=True)
    assert program("index", "--fetch", cwd=other).status == 0
    lacks = "2 files that differ are not in this clone and not compared: `git ctx index --fetch {}` gets"
    base = project.git("rev-parse", "--short=12", "HEAD~1").decode()
    for within, name in (("HEAD~1..HEAD", "'HEAD~1'"), ("HEAD~1...HEAD", base)):
        answer = ask(Repo(other), within)
        assert shown(answer) == {("fresh_price", ADDED, NEW)}
        assert answer.message == f"{lacks.format(name)} what is missing"
        assert answer.comparison is not None
        assert answer.comparison.files == 3
    # The objects that git itself fetches then.
    repo = Repo(partial.parent / "whole")
    subprocess.run([*command[:-1], str(repo.path)], check=True)
    repo.git(*FETCH_ALL.split()[1:])
    assert shown(ask(repo, "HEAD~1..HEAD")) == EXPECTED


def test_present_files_are_compared_if_others_are_missing(repo: Repo, tmp_path: Path) -> None:
    """A clone without large blobs, some of which were changed, added, removed and moved."""
    large = "".join(f"large_{number} = {number}\n" for number in range(9000))
    names = [f"data/{name}.py" for name in ("changed", "gone", "moved", "kept")]
    # Too many for one command line.
    deep = "/".join(["many" * 50] * 10)
    many = {f"{deep}/{number}.py": f"def f{number}_price():\n    a = 1\n" for number in range(60)}
    repo.commit({**BEFORE, **many, **{name: f"{large}# {name}\n" for name in names}})
    repo.write({"data/moved.py": None, "data/gone.py": None})
    fresh = {"data/fresh.py": f"{large}# fresh\n", "data/changed.py": f"{large}# other\n"}
    moved = {"place/large.py": f"{large}# data/moved.py\n"}
    less = {name: text.replace("a = 1", "a = 2") for name, text in many.items()}
    for name, text in AFTER.items():
        repo.write({name: text})
    repo.commit({**fresh, **moved, **less})
    repo.git("config", "uploadpack.allowFilter", "true")
    command = ["git", "clone", "-q", "--filter=blob:limit=60k", "--no-checkout", f"file://{repo.path}"]
    subprocess.run([*command, str(tmp_path / "partial")], check=True)
    command = ["search", "--in", "HEAD~1..HEAD", "price", "-n", "90", "--json-output"]
    run, whole = program(*command, cwd=tmp_path / "partial"), program(*command, cwd=repo.path)
    assert run.status == 0, run.err
    reported = [
        {hit["result"]["sourcePosition"]["relativePath"] for hit in json.loads(found.out)["results"]}
        for found in (run, whole)
    ]
    assert reported[0] == {path for path in reported[1] if not path.startswith("data/")}
    assert len(reported[0]) == len(many) + 3
    message = json.loads(run.out)["message"]
    assert message.startswith("3 files that differ are not in this clone and not compared: `git ctx index")
    run = program("related", "--in", "HEAD~1..HEAD", "-n", "1", "--", "shop.py", cwd=tmp_path / "partial")
    assert "note: 3 files that differ" in run.err


def test_random_histories_show_only_lines_of_the_diff(repo: Repo) -> None:
    """The changed lines are exactly those of `git diff`, parsed independently."""
    chance = random.Random(5)
    names = [f"file{number}.py" for number in range(6)]
    functions = {name: [f"do_{name[:-3]}_{n}" for n in range(5)] for name in names}
    content = {name: "".join(function(one, "step = 1") for one in functions[name]) for name in names}
    repo.commit(dict(content))
    for step in range(12):
        for name in chance.sample(names, 3):
            lines = content[name].split("\n")
            for _ in range(chance.randrange(1, 5)):
                place = chance.randrange(len(lines) - 1)
                if chance.random() < 0.4:
                    del lines[place]
                else:
                    lines.insert(place, f"    step_{step} = {chance.randrange(99)}")
            content[name] = "\n".join(lines)
        repo.commit(dict(content))
        removed, added = lines_of_diff(repo, "HEAD~1", "HEAD")
        answer = ask(repo, "HEAD^!", "step value do file")
        reported: dict[str, set[tuple[bytes, int]]] = {OLD: set(), NEW: set()}
        for hit in answer.hits:
            assert hit.change is not None
            for first, last in hit.change.lines:
                lines_reported = range(first, last + 1)
                reported[hit.change.side].update((hit.path.encode(), line) for line in lines_reported)
        assert reported[NEW] <= added
        assert reported[OLD] <= removed
        blank = {(path, line) for path, line in added if not line_of(content, path, line).strip()}
        assert added - blank <= reported[NEW]


def line_of(content: dict[str, str], path: bytes, line: int) -> str:
    return content[os.fsdecode(path)].split("\n")[line - 1]


def lines_of_diff(repo: Repo, old: str, new: str) -> tuple[set[tuple[bytes, int]], set[tuple[bytes, int]]]:
    """The lines that `git diff` removes and adds, counted with their context."""
    removed: set[tuple[bytes, int]] = set()
    added: set[tuple[bytes, int]] = set()
    path = b""
    before = after = 0
    for line in repo.git("diff", "--no-color", "-U3", old, new).split(b"\n"):
        if line.startswith(b"+++ b/"):
            path = line[6:]
        elif line.startswith(b"@@ "):
            words = line.split(b" ")
            before, after = (int(word[1:].split(b",")[0]) for word in words[1:3])
        elif line.startswith(b"-") and not line.startswith(b"---"):
            removed.add((path, before))
            before += 1
        elif line.startswith(b"+") and not line.startswith(b"+++"):
            added.add((path, after))
            after += 1
        elif line.startswith(b" "):
            before, after = before + 1, after + 1
    return removed, added
