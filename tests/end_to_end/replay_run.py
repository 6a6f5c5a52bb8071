"""A replay: random steps over a real history, each followed by questions with known answers.

After every step the answers of the repository that lives on (its index as it grew, opened long ago or just
now) are compared with those of an index of the same tree that is made from scratch: hits, order, scores,
positions, coverage, tree. Every hit has to be in the tree, with the text that it has there.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

import file_steps
import history_steps
from repositories import Repo
from truth import Entry, Question, Reference
from walk import Walk
from ways import plain

import ctx
from ctx.errors import CtxError
from ctx.git.resolution import HEAD
from ctx.index import Index
from ctx.maintenance.fsck import check
from ctx.maintenance.gc import collect
from ctx.text.contents import to_text
from ctx.types import BASE, COMMITTED, OURS, STAGED, THEIRS, Answer

LIMIT = 30
STEPS = [*history_steps.STEPS, *file_steps.STEPS]
WORDS = (
    "where are errors handled",
    "parse the configuration",
    "open",
    "test client session",
    "version 2.0 changes",
)


class Switch(NamedTuple):
    """Seconds of indexing after a checkout; `new` unless its tree was indexed already."""

    new: bool
    wall: float
    processor: float


class Figures(NamedTuple):
    """Measurements of a replay. Sizes are bytes of the whole index and of its shared part."""

    steps: int
    searches: int
    hits: int
    stale: int
    switches: list[Switch]
    commits: list[tuple[int, int]]


class Replay:
    """A walk with questions. Raises AssertionError with seed and log at the first difference."""

    def __init__(self, donor: Path, scratch: Path, seed: int, *, span: int = 600) -> None:
        self.walk = Walk(donor, scratch, seed, span)
        self.seed = seed
        self.random = self.walk.random
        self.walk.main.git("config", "ctx.catchUp", "always")
        self.reference = Reference(self.walk.main, scratch)
        self.store = self.walk.main.path / ".git" / "ctx"
        self.open: dict[Path, Index] = {}
        self.figures = Figures(0, 0, 0, 0, [], [])
        self.known: set[str] = set()

    def run(self, steps: int, progress: Callable[[str], None] = lambda line: None) -> Figures:
        """Take `steps` steps."""
        try:
            self._check("start")
            for _ in range(steps):
                name = self._step()
                progress(f"{len(self.walk.log):5} {name}")
                self._check(name)
                self.figures = self.figures._replace(steps=self.figures.steps + 1)
        except BaseException:
            done = "\n".join(self.walk.log)
            print(f"replay with seed {self.seed} in {self.walk.scratch}, what was done:\n{done}")
            raise
        finally:
            for index in self.open.values():
                index.close()
        return self.figures

    # -- steps

    def _step(self) -> str:
        walk = self.walk
        walk.elsewhere()
        if walk.in_progress() and self.random.random() < 0.5:
            step = history_steps.finish
        elif len(walk.files()) < 5 and self.random.random() < 0.7:
            step = history_steps.leave_history
        else:
            step = self.random.choices([step for _, step in STEPS], [weight for weight, _ in STEPS])[0]
        head = walk.read("rev-parse", "HEAD")
        walk.log.append(step.__name__)
        step(walk)
        self._forget_removed()
        after = walk.read("rev-parse", "HEAD")
        if after != head and step in (history_steps.switch, history_steps.detach, history_steps.new_branch):
            self._index_after_switch()
        elif after != head:
            self._grow()
        if self.random.random() < 0.15:
            self._tend()
        return step.__name__

    def _index_after_switch(self) -> None:
        with ctx.open(self.walk.here.path) as index:
            wall, processor = time.perf_counter(), time.process_time()
            report = index.index(jobs=1)
            taken = Switch(
                report.skipped is None, time.perf_counter() - wall, time.process_time() - processor
            )
            self.known.add(report.tree)
        self.figures.switches.append(taken)

    def _grow(self) -> None:
        """Index a new commit, to measure what it adds to the index."""
        before = self.sizes()
        try:
            with ctx.open(self.walk.here.path) as index:
                tree = index.index(jobs=1).tree
        except CtxError:
            return  # nothing is committed
        after = self.sizes()
        if tree not in self.known:
            self.known.add(tree)
            self.figures.commits.append((after[0] - before[0], after[1] - before[1]))

    def sizes(self) -> tuple[int, int]:
        """Return the bytes of the index, and of its part that can be shared."""

        def stored(top: Path) -> int:
            return sum(path.stat().st_size for path in top.rglob("*") if path.is_file())

        return stored(self.store), stored(self.store / "objects") + stored(self.store / "snapshots")

    def collected(self) -> tuple[int, int]:
        """Return the same after a garbage collection."""
        with ctx.open(self.walk.main.path) as index:
            collect(index.session, "now")
        return self.sizes()

    def _tend(self) -> None:
        """Do what the user or a hook does from time to time."""
        if not self.store.exists():
            return
        what = self.random.choice(["gc", "gc now", "fsck", "status", "forget views", "remove"])
        self.walk.note(what)
        with ctx.open(self.walk.here.path) as index:
            if what.startswith("gc"):
                collect(index.session, "now" if what == "gc now" else None)
            elif what == "fsck":
                assert not check(index.session, full=True).findings
            elif what == "status":
                index.status()
            elif what == "forget views":
                shutil.rmtree(self.store / "views", ignore_errors=True)
            elif self.random.random() < 0.2:
                index.remove()
                self.known.clear()

    def _forget_removed(self) -> None:
        for path in [path for path in self.open if not path.exists()]:
            self.open.pop(path).close()

    # -- questions

    def _check(self, after: str) -> None:
        place = self.walk.here
        questions = self._questions()
        if self.random.random() < 0.3:
            self._borrowed(questions, after)
        with self._index(place) as index:
            head = index.resolve()
            if head.resolved_by == HEAD:
                self._compare(index, self.reference.work_tree(place), questions, after)
            else:
                self._compare(index, head.tree.hex(), questions, after)
            what = self.random.choice(["staged", "committed", "revision", "revision", "", "", ""])
            if self.walk.read("ls-files", "--unmerged"):
                what = "staged"
            if what == "staged" and head.resolved_by == HEAD:
                tree = self.reference.staged(place)
                if tree is not None:
                    self._compare(index, tree, questions[:2], after, overlay=STAGED)
                else:
                    refused(index)
                    side, stage = self.random.choice([(BASE, b"1"), (OURS, b"2"), (THEIRS, b"3")])
                    tree = self.reference.side(place, stage)
                    self._compare(index, tree, questions[:2], after, overlay=side)
            elif what == "committed":
                self._compare(index, head.tree.hex(), questions[:2], after, overlay=COMMITTED)
            elif what == "revision":
                revision = self.walk.known()
                tree = place.git(
                    "rev-parse", "--verify", "--quiet", f"{revision}^{{tree}}", check=False
                ).decode()
                if tree:
                    self._compare(index, tree, questions[:2], after, revision=revision)

    def _questions(self) -> list[Question]:
        """Return words of commits, names and paths of the current tree, some with filters."""
        words = self.random.sample(WORDS, 1)
        subjects = (
            self.walk.read("log", "-20", "--format=%s", self.walk.near())
            .decode(errors="replace")
            .splitlines()
        )
        words += self.random.sample([subject for subject in subjects if subject.strip()] or ["fix"], 1)
        name = self.random.choice(self.walk.files())
        if name:
            words.append(os.fsdecode(name).replace("/", " ").encode(errors="replace").decode())
            with open(self.walk.path(name), "rb") as stream:
                found = [
                    word
                    for word in stream.read(20_000).decode(errors="replace").split()
                    if word.isidentifier()
                ]
            words.append(self.random.choice(found or ["main"]))
        questions = [Question(text) for text in words]
        folder = os.fsdecode(name.partition(b"/")[0]).encode(errors="replace").decode()
        filters = [Question(words[0], (f"{folder}*",)), Question(words[0], ("*.py", ":!docs"))]
        filters += [Question(words[0], (), ("python",)), Question(words[0], (), ("go", "markdown"))]
        return [*questions, self.random.choice(filters)]

    def _index(self, place: Repo) -> AbstractContextManager[Index]:
        """Return an index that stays open, or a newly opened one."""
        if self.random.random() < 0.5:
            return ctx.open(place.path)
        if place.path not in self.open:
            self.open[place.path] = ctx.open(place.path)
        return nullcontext(self.open[place.path])

    def _count(self, answer: Answer, files: dict[bytes, Entry], asked: str) -> None:
        """Count the hits that are not in the tree; none are allowed."""
        stale = [
            hit for hit in answer.hits if files.get(os.fsencode(hit.path), Entry(b"", "")).oid != hit.blob
        ]
        self.figures = self.figures._replace(
            searches=self.figures.searches + 1,
            hits=self.figures.hits + len(answer.hits),
            stale=self.figures.stale + len(stale),
        )
        assert not stale, f"{asked} found what is not in the tree: {stale}"

    def _borrowed(self, questions: list[Question], after: str) -> None:
        """Search without catching up: fewer hits are allowed, but none of another tree."""
        place = self.walk.here
        self.walk.main.git("config", "ctx.catchUp", "never")
        with ctx.open(place.path) as index:
            if index.resolve().resolved_by == HEAD:
                tree = self.reference.work_tree(place)
                files = self.reference.files(tree)
                for question in questions[:2]:
                    answer = index.search(question.words, limit=LIMIT)
                    assert answer.tree == tree, f"after {after}: never catching up, another tree"
                    self._count(answer, files, f"after {after}: never catching up, {question}")
        self.walk.main.git("config", "ctx.catchUp", "always")

    def _compare(
        self,
        index: Index,
        tree: str,
        questions: list[Question],
        after: str,
        *,
        overlay: str | None = None,
        revision: str | None = None,
    ) -> None:
        files = self.reference.files(tree)
        asked = f"after {after}, {revision or overlay or 'as it is'}, tree {tree}"
        given = []
        for question in questions:
            answer = index.search(
                question.words,
                paths=question.paths,
                languages=question.languages,
                limit=LIMIT,
                revision=revision,
                overlay=overlay,
            )
            if answer.tree != tree:
                raise AssertionError(
                    f"{asked}: the answer is of another tree\n{unlike(index, answer, files)}"
                )
            self._count(answer, files, f"{asked}: {question}")
            for hit in answer.hits[:3]:
                content = self.reference.repo.run("cat-file", "blob", hit.blob).stdout
                text = to_text(content, hit.position.start, hit.position.end)
                assert hit.text == text, f"{asked}: the text of {hit} is {hit.text!r}"
            given.append(answer)
        expected = self.reference.answers(tree, questions, LIMIT)
        for question, one, other in zip(questions, given, expected, strict=True):
            difference = list(differences(one, other))
            assert not difference, f"{asked}: {question}\n" + "\n".join(difference)


def unlike(index: Index, answer: Answer, files: dict[bytes, Entry]) -> str:
    """Return the paths by which the tree of an answer differs from the expected one."""
    repository = index.session.reader
    found: dict[bytes, Entry] = {}
    left = [(b"", bytes.fromhex(answer.tree))]
    while left:
        above, tree = left.pop()
        for entry in repository.tree_entries(tree):
            if entry.mode == 0o40000:
                left.append((above + entry.name + b"/", entry.oid))
            else:
                found[above + entry.name] = Entry(b"%o" % entry.mode, entry.oid.hex())
    paths = sorted(path for path in {*found, *files} if found.get(path) != files.get(path))
    return "\n".join(f"{path!r}: {found.get(path)} where git has {files.get(path)}" for path in paths)


def refused(index: Index) -> None:
    """Staged files cannot be searched while there are conflicts."""
    try:
        index.search("anything", overlay=STAGED)
    except CtxError:
        return
    raise AssertionError("a search of an index with conflicts was not refused")


def differences(one: Answer, other: Answer) -> Iterator[str]:
    """Return the differences between two answers about the same tree."""
    mine, theirs = plain(one), plain(other)
    for name, left, right in (
        ("coverage", one.coverage, other.coverage),
        ("message", one.message, other.message),
    ):
        if left != right:
            yield f"{name}: {left} where a new index has {right}"
    hits, expected = mine[-1], theirs[-1]
    if len(hits) != len(expected):
        yield f"{len(hits)} hits where a new index has {len(expected)}"
    for place, (left, right) in enumerate(zip(hits, expected, strict=False)):
        if left != right:
            yield f"hit {place}: {left}\n   where a new index has {right}"
            return
