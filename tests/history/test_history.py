"""Commits are found by message and change, indexed once, and answers cover exactly one history."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.errors import NothingCommitted, UsageError
from ctx.git.commits import history_of
from ctx.history.answer import FIRST, LAST, CommitFilters, open_view, text_of
from ctx.history.blocks import runs
from ctx.history.results import HistoryAnswer
from ctx.maintenance.fsck import check
from ctx.maintenance.gc import collect

CACHE = "def cached(key):\n    entry = cache_lookup(key)\n    return entry\n"


def ask(path: Path, query: str, filters: CommitFilters | None = None, **options: object) -> HistoryAnswer:
    with ctx.open(path) as index:
        return index.history(query, filters or CommitFilters(), **options)  # type: ignore[arg-type]


def found(answer: HistoryAnswer) -> list[bytes]:
    return [bytes.fromhex(hit.commit) for hit in answer.hits]


@pytest.fixture
def project(repo: Repo) -> dict[str, bytes]:
    """A small history that adds, changes and removes a cache; commits by name."""
    return {
        "start": repo.commit({"readme.md": "# A parser\n"}, "Start a parser of invoices"),
        "come": repo.commit({"src/store.py": CACHE}, "Keep answers for a while"),
        "touch": repo.commit({"src/store.py": CACHE.replace("return entry", "return entry or None")}, "Tidy"),
        "other": repo.commit({"src/net.py": "def retry_request(url):\n    return url\n"}, "Retry requests"),
        "go": repo.commit({"src/store.py": None}, "Ask the source each time"),
        "end": repo.commit({"notes.txt": "nothing of note\n"}, "Write notes"),
    }


def test_commits_are_found_by_message_and_by_change(repo: Repo, project: dict[str, bytes]):
    assert found(ask(repo.path, "parser of invoices"))[0] == project["start"]
    by_change = ask(repo.path, "retry_request").hits[0]
    assert by_change.commit == project["other"].hex()
    assert (by_change.author, by_change.subject, by_change.is_merge) == (
        "Ada Tester",
        "Retry requests",
        False,
    )
    (place,) = by_change.places
    assert (place.path, place.first, place.last, place.is_removed) == ("src/net.py", 1, 2, False)
    with ctx.open(repo.path) as index:
        assert text_of(index.repository, by_change.commit, place) == "def retry_request(url):\n    return url"


def test_first_and_last_find_when_a_concept_came_and_went(repo: Repo, project: dict[str, bytes]):
    first = ask(repo.path, "cache lookup", asks=FIRST, limit=1)
    assert found(first) == [project["come"]]
    last = ask(repo.path, "cache lookup", asks=LAST, limit=1)
    assert found(last) == [project["go"]]
    assert last.message is None
    assert [place.is_removed for place in last.hits[0].places] == [True]
    # A line that only changes neither adds nor removes the words that it keeps.
    assert project["touch"] not in found(ask(repo.path, "cache lookup", asks=FIRST, limit=9))
    back = repo.commit({"src/again.py": CACHE}, "Once more")
    again = ask(repo.path, "cache lookup", asks=LAST, limit=1)
    assert found(again) == [project["go"]]
    assert back.hex()[:12] in (again.message or "")


def test_only_new_commits_are_read(repo: Repo):
    for number in range(40):
        repo.commit({f"file{number}.py": f"value_{number} = {number}\n"}, f"Add number {number}")
    assert ask(repo.path, "number").coverage.indexed == 40
    assert ask(repo.path, "value").coverage.indexed == 0
    for word in ("amber", "birch", "cedar", "maple"):
        repo.commit({f"{word}.py": f"{word} = 1\n"}, "Add another")
        answer = ask(repo.path, word)
        assert answer.coverage.indexed == 1
        assert answer.hits[0].commit == repo.id().hex()


def test_amended_and_rebased_commits_cost_little(repo: Repo):
    for number in range(20):
        repo.commit({f"file{number}.py": f"value_{number} = {number}\n"}, f"Add number {number}")
    ask(repo.path, "number")
    old = repo.id()
    repo.git("commit", "--amend", "--quiet", "--message", "Say umbrella instead")
    answer = ask(repo.path, "umbrella")
    # 20 commits are a block of 16 and one of 4, which is no longer what it was.
    assert (answer.coverage.indexed, found(answer)[0]) == (4, repo.id())
    assert old not in found(ask(repo.path, "number", limit=100))
    repo.branch("topic", "HEAD~3")
    repo.commit({"topic.py": "umbrella_topic = 1\n"}, "Work on the topic")
    assert ask(repo.path, "topic").coverage.indexed <= 2
    repo.git("rebase", "--quiet", "main")
    answer = ask(repo.path, "topic work")
    assert (answer.coverage.indexed, found(answer)[0]) == (1, repo.id())


def test_merges_match_by_message_only(repo: Repo, project: dict[str, bytes]):
    repo.branch("side", project["start"].hex())
    repo.commit({"side.py": "lantern = 1\n"}, "Light")
    repo.git("checkout", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "--message", "Bring the lighthouse", "side")
    answer = ask(repo.path, "lighthouse")
    assert (answer.hits[0].commit, answer.hits[0].is_merge, answer.hits[0].places) == (
        repo.id().hex(),
        True,
        [],
    )
    assert answer.coverage.merges == 1
    assert repo.id() not in found(ask(repo.path, "lantern"))


def test_filters_apply_before_the_limit(repo: Repo):
    wanted = repo.commit({"deep/a.py": "apple = 1\n", "b.py": "pear = 1\n"}, "Plant")
    repo.clock += 86_400 * 400
    for number in range(12):
        repo.commit({f"top{number}.py": f"apple_{number} = 1\n"}, f"apple apple {number}")
    assert found(ask(repo.path, "apple", CommitFilters(paths=["deep"]), limit=1)) == [wanted]
    assert found(ask(repo.path, "apple", CommitFilters(until="2020-12-31"), limit=1)) == [wanted]
    assert wanted not in found(ask(repo.path, "apple", CommitFilters(since="2020-12-31"), limit=50))
    assert ask(repo.path, "apple", CommitFilters(authors=["Nobody"])).hits == []
    assert len(found(ask(repo.path, "apple", CommitFilters(authors=["^Ada T.*r "]), limit=50))) == 13
    # What a commit did elsewhere is not shown where the filter leads away from it.
    (hit,) = ask(repo.path, "pear", CommitFilters(paths=["deep"]), limit=5).hits or [None]
    assert hit is None or all(place.path == "deep/a.py" for place in hit.places)
    with pytest.raises(UsageError):
        ask(repo.path, "apple", CommitFilters(paths=[":(attr:x)a"]))


def test_an_answer_covers_the_named_revision_only(repo: Repo, project: dict[str, bytes]):
    assert project["go"] not in found(ask(repo.path, "cache", revision=project["other"].hex(), limit=50))
    with pytest.raises(UsageError, match="tree"):
        ask(repo.path, "cache", revision="HEAD^{tree}")


def test_equal_subjects_are_both_shown(repo: Repo, project: dict[str, bytes]):
    repo.branch("release", project["start"].hex())
    repo.git("cherry-pick", project["other"].hex())
    picked = repo.id()
    repo.git("checkout", "--quiet", "main")
    repo.git("merge", "--quiet", "-s", "ours", "--message", "Unite", "release")
    assert {picked, project["other"]} <= set(found(ask(repo.path, "retry requests", limit=3)))


def test_damaged_and_foreign_files_are_misses(repo: Repo, project: dict[str, bytes]):
    whole = ask(repo.path, "cache lookup")
    folder = repo.path / ".git/ctx/history"
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert len(files) > 2
    for number, path in enumerate(files):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] if number % 2 else b"\0" * len(data))
    again = ask(repo.path, "cache lookup")
    assert found(again) == found(whole)
    assert again.coverage.indexed == 6
    # Each under the name of the next.
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent.name != "views")
    contents = [path.read_bytes() for path in files]
    for path, data in zip(files, contents[1:] + contents[:1], strict=True):
        path.write_bytes(data)
    for path in (folder / "views").iterdir():
        path.write_bytes(b"")
    again = ask(repo.path, "cache lookup")
    assert found(again) == found(whole)
    assert again.coverage.indexed == 6


def test_a_known_history_is_not_listed_again(
    repo: Repo, project: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    repo.branch("side", project["touch"].hex())
    repo.commit({"side.py": "lantern = 1\n"}, "Light the cache")
    repo.git("checkout", "--quiet", "main")
    repo.git("merge", "--quiet", "--no-ff", "--message", "Bring the lighthouse", "side")
    filters = CommitFilters(since="1990-01-01")
    queries = [("cache lookup", None), ("lantern", FIRST), ("cache", LAST), ("lighthouse", None)]

    def answers() -> list[object]:
        every = [ask(repo.path, query, asks=asks, limit=50, timeline=True) for query, asks in queries]
        every.append(ask(repo.path, "cache", filters, limit=50))
        return [replace(one, seconds=0.0, coverage=replace(one.coverage, indexed=0)) for one in every]

    ask(repo.path, "cache")
    trace = tmp_path / "trace"
    monkeypatch.setenv("GIT_TRACE", str(trace))
    assert ask(repo.path, "lantern").hits
    assert "rev-list" not in trace.read_text()
    monkeypatch.delenv("GIT_TRACE")
    known = answers()
    shutil.rmtree(repo.path / ".git/ctx/history/views")
    with ctx.open(repo.path) as index:
        for _ in range(2):
            view, *_ = open_view(index.repository, index.session.store, repo.id())
            assert view.history() == history_of(index.repository, repo.id())
    shutil.rmtree(repo.path / ".git/ctx/history")
    assert answers() == known


def test_shallow_boundaries_and_grafts_change_the_view(repo: Repo, project: dict[str, bytes]):
    assert ask(repo.path, "cache").coverage.commits == 6
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/grafts").write_text(f"{project['other'].hex()}\n")
    assert ask(repo.path, "cache").coverage.commits == 3
    (repo.path / ".git/info/grafts").unlink()
    (repo.path / ".git/shallow").write_text(f"{project['go'].hex()}\n")
    assert (ask(repo.path, "cache").coverage.commits, ask(repo.path, "cache").coverage.edge) == (2, 1)
    (repo.path / ".git/shallow").unlink()
    assert ask(repo.path, "cache").coverage.commits == 6


def test_a_view_of_another_commit_is_a_miss(repo: Repo, project: dict[str, bytes]):
    ask(repo.path, "cache", revision=project["go"].hex())
    folder = repo.path / ".git/ctx/history/views"
    (one,) = folder.iterdir()
    whole = ask(repo.path, "cache", limit=50)
    (two,) = set(folder.iterdir()) - {one}
    two.write_bytes(one.read_bytes())
    again = ask(repo.path, "cache", limit=50)
    assert replace(again, seconds=0.0) == replace(whole, seconds=0.0, coverage=again.coverage)
    assert again.coverage.commits == 6


def test_the_first_commit_is_the_one_that_is_about_it(repo: Repo):
    """Tests, documents and later changes with the same words are not the first."""
    parser = "def parse(text):\n    return text.split()\n"
    bar = "def progress_bar(length):\n    for done in range(length):\n        show(done, length)\n"
    repo.commit({"src/parse.py": parser}, "Start a parser")
    repo.commit({"tests/test_bar.py": "def test_bar():\n    progress_bar_of_loops = None\n"}, "Sketch tests")
    come = repo.commit({"src/bar.py": bar}, "Add a progress bar for loops")
    repo.commit({"src/bar.py": bar.replace("show(done, length)", "progress_bar_line(done)")}, "Fix bar")
    repo.commit({"docs/bar.md": "# Progress bar\n\nA progress bar for loops.\n"}, "Document the bar")
    answer = ask(repo.path, "progress bar for loops", asks=FIRST)
    assert found(answer)[0] == come
    doubted = ask(repo.path, "rainbow of colours", asks=FIRST)
    assert not doubted.hits or doubted.message


def test_reading_can_be_ended(repo: Repo, project: dict[str, bytes]):
    for number in range(300):
        repo.commit({"src/count.py": f"lantern = {number}\n"}, f"Count to {number}")
    asked: list[tuple[int, int]] = []

    def once(done: int, total: int) -> bool:
        asked.append((done, total))
        return not done

    with ctx.open(repo.path) as index:
        index.session.on_commits = once
        part = index.history("count lantern", limit=1)
        assert part.hits[0].subject.startswith("Count to ")
        assert part.coverage.waiting == 306 - part.coverage.commits > 0
        assert "oldest commit" in (part.message or "")
        assert "not indexed yet" in (part.message or "")
        index.session.on_commits = None
        whole = index.history("parser of invoices", limit=1)
        assert (whole.coverage.commits, whole.coverage.waiting) == (306, 0)
        assert whole.coverage.indexed == part.coverage.waiting
        assert found(whole) == [project["start"]]


def test_no_text_is_stored(repo: Repo, project: dict[str, bytes]):
    ask(repo.path, "cache lookup")
    stored = b"".join(
        path.read_bytes() for path in (repo.path / ".git/ctx/history/views").iterdir() if path.is_file()
    )
    assert b"src/store.py" in stored
    for text in (b"cache_lookup", b"Retry", b"return"):
        assert text not in stored


def test_a_shallow_clone_reports_its_boundary(repo: Repo, project: dict[str, bytes], tmp_path: Path):
    clone = tmp_path / "shallow"
    subprocess.run(["git", "clone", "--quiet", "--depth=3", f"file://{repo.path}", str(clone)], check=True)
    answer = ask(clone, "cache lookup", limit=9)
    assert (answer.coverage.commits, answer.coverage.edge) == (3, 1)
    assert "--unshallow" in (answer.message or "")
    # The commit at the edge did not add all that its tree has.
    assert project["other"] not in found(ask(clone, "cache lookup", asks=FIRST))
    subprocess.run(["git", "-C", str(clone), "fetch", "--quiet", "--unshallow"], check=True)
    whole = ask(clone, "cache lookup", asks=FIRST, limit=1)
    assert (found(whole), whole.message) == ([project["come"]], None)


def test_missing_blobs_are_reported_and_never_fetched(repo: Repo, project: dict[str, bytes], tmp_path: Path):
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    options = ["--quiet", "--filter=blob:none", "--no-checkout"]
    subprocess.run(["git", "clone", *options, f"file://{repo.path}", str(clone)], check=True)
    for _ in range(2):
        answer = ask(clone, "retry requests")
        assert found(answer)[0] == project["other"]
        assert answer.coverage.unread
        assert "not here" in (answer.message or "")


def test_an_empty_repository_has_no_history(repo: Repo):
    with pytest.raises(NothingCommitted):
        ask(repo.path, "cache")


def test_a_bare_repository_answers(repo: Repo, project: dict[str, bytes], tmp_path: Path):
    bare = tmp_path / "bare.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", str(repo.path), str(bare)], check=True)
    assert found(ask(bare, "cache lookup", asks=FIRST, limit=1)) == [project["come"]]


def test_sha256_repositories_answer(make_repo: Callable[..., Repo]):
    other = make_repo("sha256", "--object-format=sha256")
    wanted = other.commit({"a.py": "lantern = 1\n"}, "Light")
    assert found(ask(other.path, "lantern")) == [wanted]
    assert ask(other.path, "lantern").coverage.indexed == 0


def test_unusual_names_and_contents(repo: Repo):
    odd = b'dir\xff/na"me\twith\nlines \xe9.py'
    hostile = "\0hidden\n@@ -1 +1 @@\n-x\ndiff --git a/x b/x\n+++ b/other.py\n"
    repo.commit(
        {odd: "lantern = 1\n", "spaced name.txt": "umbrella\n"}, "Odd\n\n@@ -1 +1 @@\n+++ b/message.py\n"
    )
    repo.commit({"tail.txt": "no newline", "long.txt": "word " * 5000 + "\nkettle\n"}, "Ends")
    repo.commit({"tail.txt": "still no newline\n" + hostile.replace("\0", "")}, "Hostile")
    answer = ask(repo.path, "lantern")
    assert answer.hits[0].places[0].path == os.fsdecode(odd)
    assert ask(repo.path, "umbrella").hits[0].places[0].path == "spaced name.txt"
    assert ask(repo.path, "kettle").hits[0].places[0].path == "long.txt"
    places = {place.path for hit in ask(repo.path, "hidden newline", limit=9).hits for place in hit.places}
    assert places <= {"tail.txt", "spaced name.txt", "long.txt", os.fsdecode(odd)}


def test_a_huge_commit_is_truncated_and_counted(repo: Repo):
    repo.commit({f"many/{number}.py": f"thing_{number} = 1\n" for number in range(70)}, "Import everything")
    repo.commit({"after.py": "lantern = 1\n"}, "Go on")
    answer = ask(repo.path, "lantern")
    assert (answer.coverage.truncated, found(answer)[0]) == (1, repo.id())
    assert found(ask(repo.path, "import", CommitFilters(paths=["many/69.py"]))) == [repo.id("HEAD~1")]


def test_a_timeline_has_every_month(repo: Repo, project: dict[str, bytes]):
    repo.clock += 86_400 * 70
    repo.commit({"late.py": CACHE}, "Cache lookup")
    months = ask(repo.path, "cache lookup", timeline=True).timeline
    assert [month.month for month in months] == ["2020-09", "2020-10", "2020-11"]
    assert months[1].commits == 0
    assert months[2].commits == 1


def test_runs_cover_a_history_and_stay_when_it_grows():
    ids = [os.urandom(20) for _ in range(1500)]
    places = list(runs(ids))
    assert [start for start, _ in places] == [0, *(end for _, end in places[:-1])]
    assert places[-1][1] == len(ids)
    assert max(end - start for start, end in places) <= 256
    longer = list(runs([*ids, os.urandom(20)]))
    assert len(set(places) - set(longer)) <= 9


def test_a_collection_keeps_what_branches_need(repo: Repo, project: dict[str, bytes]):
    ask(repo.path, "cache lookup")
    repo.git("commit", "--amend", "--quiet", "--message", "Something else")
    ask(repo.path, "cache lookup")
    for path in (repo.path / ".git/ctx/history").rglob("*"):
        os.utime(path, (repo.clock, repo.clock))
    with ctx.open(repo.path) as index:
        assert check(index.session).findings == []
        assert check(index.session).foreign == []
        removed = collect(index.session, "now").removed
        assert removed["commits"] >= 1
        assert check(index.session).findings == []
    assert ask(repo.path, "cache lookup").coverage.indexed == 0
    with ctx.open(repo.path) as index:
        index.remove()
    assert not (repo.path / ".git/ctx/history").exists()


def test_a_read_only_repository_answers(repo: Repo, project: dict[str, bytes]):
    (repo.path / ".git/ctx").write_text("in the way\n")
    assert found(ask(repo.path, "cache lookup", asks=FIRST, limit=1)) == [project["come"]]


def test_the_score_of_a_commit_that_matches_everywhere_is_at_most_one(repo: Repo):
    repo.commit({"readme.md": "# A parser of invoices\n"}, "Start")
    best = repo.commit({"retry_request.py": "retry_request = retry_request\n" * 3}, "retry request")
    half = repo.commit({"other.py": "def parse(invoice):\n    return invoice\n"}, "Parse a request")
    answer = ask(repo.path, "retry request", timeline=True)
    scores = {bytes.fromhex(hit.commit): hit.score for hit in answer.hits}
    assert 0.5 < scores[best] <= 1
    assert 0 < scores[half] < scores[best]
    assert all(0 <= place.score <= 1 for hit in answer.hits for place in hit.places)
    assert sum(month.strength for month in answer.timeline) <= sum(month.commits for month in answer.timeline)
