"""Replay commits: search the parent tree of each commit with its message.

    python tests/benchmarks/yardsticks/replay.py CHECKOUTS OUT [--semble PYTHON --model MODEL] [NAME …]

CHECKOUTS has a clone (bare or not) of each project of `projects.json`. For each project the last commits
before its head that changed sources or, without sources, tests are used; commits that only move, format or
raise versions are excluded by the code of `git ctx evaluate`. git-ctx answers at every parent, semble at some
of them, in a folder checked out at that parent; the comparison is over those queries. With `--past` git-ctx
answers again using the commit messages of each file.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from results import write
from systems import Ours, Semble, checkout, clone, command_line

import ctx
from ctx.index import Index
from ctx.ranking.correction import Correction
from ctx.ranking.file_history import history_of
from ctx.ranking.tuning import PLAIN, Tuning
from ctx.search.evaluation.commits import commits
from ctx.search.evaluation.measures import Lines, Target
from ctx.search.evaluation.tasks import SOURCES, TESTS, Task, task_of
from ctx.storage.records import Record, decode_record
from ctx.storage.views.view import View
from ctx.text.subjects import question_of

COMMITS = 100
SEMBLE_EVERY = 5
WITH_PAST = "git-ctx, ctx.fit"
_LOOKED_AT = 3000
_FUNCTIONS = {"function", "method", "macro", "test"}


def replay(
    checkouts: Path, project: dict[str, Any], out: Any, semble: Semble | None, most: int, with_past: bool
) -> int:
    """Write the results of one project, and return the number of its commits."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, project["name"])
        clone(checkouts / project["name"], folder)
        with ctx.open(folder) as index:
            ours = Ours(index)
            head = index.repository.commit_of(project["head"])
            if head is None:
                raise SystemExit(f"{project['name']} lacks {project['head']}")
            done = 0
            for commit in commits(index.repository, head, _LOOKED_AT):
                if commit.left_out is not None:
                    continue
                view = ours.parents.view(index.repository.commit_info(commit.parent).tree)
                task = task_of(commit, view, ours.parents.records(view))
                if isinstance(task, str) or task.kind not in (SOURCES, TESTS):
                    continue
                queries, functions = _queries(task), _functions(index, view, task)
                texts = list(queries.values())
                compared = done % SEMBLE_EVERY == 0
                answers = [(ours.name, ours.search(view, texts))]
                if semble is not None and compared:
                    checkout(folder, commit.parent.hex())
                    answers.append((semble.name, semble.search(folder, texts)))
                if with_past and compared:
                    answers.append((WITH_PAST, ours.search(view, texts, tuning=_past(index, commit.parent))))
                for system, found in answers:
                    for (variant, text), results in zip(queries.items(), found, strict=True):
                        name = f"{project['name']} {commit.oid.hex()[:12]}"
                        write(
                            out, f"replay, {variant}", system, project, task.kind, name, text, task.files,
                            task.places, results, functions,
                        )  # fmt: skip
                done += 1
                if done == most:
                    break
    return done


def _past(index: Index, commit: bytes) -> Tuning:
    """The tuning with `ctx.fit` and a history that ends with a commit."""
    return PLAIN._replace(correct=Correction(history_of(index.repository, commit), commit).correct)


def _functions(index: Index, view: View, task: Task) -> list[Target]:
    """The locations of a task; a function split into several chunks counts as a whole."""
    wanted: dict[bytes, list[Lines]] = {}
    for place in task.places:
        wanted.setdefault(place.path, []).extend(place.lines)
    functions = []
    for path, lines in wanted.items():
        file = view.paths.index(path)
        segment = view.segments[int(view.file_segment[file])]
        key = segment.key(int(view.file_document[file]))
        record = decode_record(index.session.record(view, view.cluster_of(file), key))
        whole = [span for span in _spans(record) if any(span[0] <= b and a <= span[1] for a, b in lines)]
        functions.append(Target(path, (*lines, *whole)))
    return functions


def _spans(record: Record) -> list[Lines]:
    """First and last line of each function that was split into several chunks."""
    spans: list[Lines] = []
    begun = None
    for place, kind, symbol, names in zip(
        record.positions, record.kinds, record.symbols, record.names, strict=True
    ):
        if begun is not None and kind == "block" and not names and symbol == begun[1]:
            if spans and spans[-1][0] == begun[0]:
                spans.pop()
            spans.append((begun[0], place.end_line))
        else:
            begun = (place.start_line, symbol) if symbol and kind in _FUNCTIONS else None
    return spans


def _queries(task: Task) -> dict[str, str]:
    queries = {"subject": task.query}
    if (question := question_of(task.commit.subject, task.commit.body)) is not None:
        queries["subject and body"] = question
    return queries


def main() -> int:
    parser = command_line("checkouts", "out")
    parser.add_argument(
        "--past", action="store_true", help="git-ctx with `ctx.fit` as well, where semble is asked"
    )
    parser.add_argument("--commits", type=int, default=COMMITS)
    options = parser.parse_intermixed_args()
    semble = Semble(options.semble, options.model) if options.semble else None
    projects = json.loads(Path(__file__).with_name("projects.json").read_text())
    with options.out.open("a") as out:
        for project in projects:
            if options.names and project["name"] not in options.names:
                continue
            started = time.monotonic()
            done = replay(options.checkouts, project, out, semble, options.commits, options.past)
            seconds = time.monotonic() - started
            print(f"{project['name']}: {done} commits, {seconds:.0f} s", file=sys.stderr, flush=True)
    if semble is not None:
        semble.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
