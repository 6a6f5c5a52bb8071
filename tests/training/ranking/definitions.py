"""Train the ranker of definitions, and pack it.

    python tests/training/ranking/definitions.py CHECKOUTS ctx/ranking/definitions-1.bin

CHECKOUTS has one clone for each name of `definitions.json`. Needs LightGBM. The queries are commits after the
revision with the functions that they changed, names of definitions, questions with labelled functions
(`functions/`), and questions with a labelled file (`questions.json`), of which the row with the most evidence
is taken. One seed, so that the same projects result in the same trees.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import history
import lightgbm
import numpy as np
import numpy.typing as npt
from changes import changed_lines
from pack import pack

import ctx
from ctx.index import Index
from ctx.ranking.corpus import Corpus
from ctx.ranking.definitions import DEFINITION_FEATURES, definition_features
from ctx.ranking.gbdt import FORMAT, LEAVES
from ctx.ranking.query import prepare
from ctx.ranking.ranker import read_pool
from ctx.storage.records import Record, decode_record
from ctx.storage.views import paths
from ctx.text.subjects import question_of
from ctx.text.terms import ascii_words

SEED = 4
FOLDER = Path(__file__).parent
ASIDE = paths.DOCS | paths.CONFIG | paths.DATA | paths.VENDORED | paths.TEST | paths.EXAMPLE
FILES = 50
COMMITS = 150
PER_FILE = 6
"""Most commits of a project, and most that may have changed a file."""
MOST_CHANGED = 6
"""Most definitions that a commit may change."""
NAMES = 30
NEGATIVES = 400
"""Rows of each query with the most evidence, and as many random ones, besides the labelled ones."""
LONGER = 40
"""A message is a query beside its subject if it is longer by this number of characters."""
RULE = {"defined/best": 1.0, "soft/best": 1.0, "similar/best": 1.0, "defines": 1.0}
"""Weights of the evidence that finds the row of a labelled file."""
HARD = {"united/best": 1.0, "similar/best": 0.6, "defined/best": 0.3, "file_gap": 0.15}
"""Weights of the evidence that finds the rows that are hardest to tell from the answer."""
WEIGHTS = {"commit": 1.0, "name": 0.5, "function": 3.0, "file": 3.0}
TREES = 150
PARAMETERS = {
    "objective": "lambdarank",
    "label_gain": [0, 1, 3],
    "learning_rate": 0.1,
    "num_leaves": LEAVES,
    "min_data_in_leaf": 100,
    "lambda_l2": 10.0,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambdarank_truncation_level": 10,
    "max_bin": 63,
    # A better file is never a reason against its definitions.
    "monotone_constraints": [
        {"file": 1, "file_gap": 1, "file_rank": -1}.get(name, 0) for name in DEFINITION_FEATURES
    ],
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
    "seed": SEED,
}
_NAMED = {"function", "method", "class", "interface", "struct", "enum", "trait", "object", "module"}
_MAIN, _ACCEPTED, _UNKNOWN = 2, 1, -1


class Place(NamedTuple):
    """Lines of a file, both inclusive."""

    path: str
    first: int
    last: int

    def finds(self, label: Place) -> bool:
        """Return True if these lines are a fair answer for a label (see tests/benchmarks/yardsticks)."""
        common = min(self.last, label.last) - max(self.first, label.first) + 1
        own, wanted = self.last - self.first + 1, label.last - label.first + 1
        if self.path != label.path or common < 1:
            return False
        return 2 * common >= own or (2 * common >= wanted and own <= max(3 * wanted, 60))


class Query(NamedTuple):
    """A query, its source (a key of WEIGHTS), and the labelled places."""

    text: str
    source: str
    main: Sequence[Place]
    accepted: Sequence[Place] = ()


class Project:
    """A repository with its tree open for searches."""

    def __init__(self, index: Index, checkout: Path, listed: dict[str, Any]) -> None:
        index.index(revision=listed["revision"], jobs=1)
        self.index, self.checkout, self.listed = index, checkout, listed
        self.view = index.session.indexer.view(index.resolve(listed["revision"]))
        self.corpus = corpus = Corpus(self.view)
        self.records: dict[int, Record] = {}
        self.code = {
            os.fsdecode(self.view.path(file)): file
            for file in np.flatnonzero(corpus.file_document >= 0).tolist()
            if not self.view.file_flags[file] & ASIDE and corpus.document_rows[corpus.file_document[file]]
        }

    def record(self, file: int) -> Record:
        """The stored chunks of a file."""
        if file not in self.records:
            key = self.corpus.key(int(self.corpus.file_document[file]))
            stored = self.index.session.record(self.view, self.view.cluster_of(file), key)
            self.records[file] = decode_record(stored)
        return self.records[file]

    def places(self, file: int) -> list[Place]:
        """The place of each row of a file."""
        path = os.fsdecode(self.view.path(file))
        return [Place(path, one.start_line, one.end_line) for one in self.record(file).positions]

    def queries(self) -> Iterator[Query]:
        """All queries of the project."""
        yield from self.commits()
        yield from self.names()
        yield from self.questions()

    def commits(self) -> Iterator[Query]:
        """Commits after the revision, by their subjects, and by their whole messages."""
        if self.listed["head"] is None:
            return
        caps = {"after": COMMITS, "before": 0, "added": 0, "topic": 0}
        head, tree = self.listed["head"], self.listed["revision"]
        for example in history.examples(self.checkout, head, tree, set(self.code), caps, SEED, PER_FILE):
            changed = [place for path in example.paths for place in self.changed(example, path, tree)]
            if not 1 <= len(changed) <= MOST_CHANGED:
                continue
            yield Query(example.text, "commit", changed)
            message = history.git(self.checkout, "log", "-1", "--format=%B", example.commit).lstrip("\n")
            subject, _, body = message.partition("\n")
            question = question_of(subject.strip(), body.strip())
            if question and len(question) > len(example.text) + LONGER:
                yield Query(question, "commit", changed)

    def changed(self, example: history.Example, path: str, tree: str) -> list[Place]:
        """The rows of a file that a commit changed, without imports, which follow from other changes."""
        try:
            lines = changed_lines(self.checkout, example, path, tree)
        except subprocess.CalledProcessError:  # the clone lacks the blob
            return []
        record = self.record(self.code[path])
        return [
            place
            for place, kind in zip(self.places(self.code[path]), record.kinds, strict=True)
            if kind != "imports" and any(place.first <= b and a <= place.last for a, b in lines)
        ]

    def names(self) -> Iterator[Query]:
        """Names that one row defines, every second one as words."""
        where: dict[str, set[Place]] = defaultdict(set)
        for file in self.code.values():
            record = self.record(file)
            for place, kind, names in zip(self.places(file), record.kinds, record.names, strict=True):
                if kind in _NAMED and names:
                    where[names[0]].add(place)
        single = sorted(
            (name, *places)
            for name, places in where.items()
            if len(places) == 1 and len(name) > 4 and name.replace("_", "").isalnum()
        )
        chance = random.Random(f"{SEED}-{self.listed['name']}")
        for number, (name, place) in enumerate(chance.sample(single, min(NAMES, len(single)))):
            words = ascii_words(name)
            yield Query(name if number % 2 or len(words) < 2 else " ".join(words), "name", [place])

    def questions(self) -> Iterator[Query]:
        """Written questions: those with labelled functions, and those with a labelled file."""
        name = self.listed["name"]
        written = FOLDER / "functions" / f"{name}.json"
        if written.exists():
            for one in json.loads(written.read_text())["questions"]:
                main, accepted = (
                    [Place(label["path"], label["start"], label["end"]) for label in one[key]]
                    for key in ("primary", "acceptable")
                )
                yield Query(one["question"], "function", main, accepted)
        for one in json.loads((FOLDER / "questions.json").read_text()).get(name, []):
            yield Query(one["query"], "file", [Place(path, 0, 0) for path in one["paths"]])

    def example(self, query: Query) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]] | None:
        """The features and labels of the rows of a query, or None if no labelled row is a candidate."""
        pool = read_pool(self.corpus, prepare(query.text), None, FILES)
        if not len(pool.scores):
            return None
        table = definition_features(
            pool.corpus, pool.query, pool.signals, pool.candidates, pool.fields, pool.scores
        )
        places = [place for file in pool.candidates.files.tolist() for place in self.places(file)]
        if query.source == "file":
            wanted = {place.path for place in query.main}
            labels = np.array([_UNKNOWN if place.path in wanted else 0 for place in places])
            best = np.flatnonzero(labels)
            best = best[np.argsort(-summed(table, RULE)[best], kind="stable")]
            labels[best[:1]], labels[best[1:3]] = _MAIN, _ACCEPTED
        else:
            labels = np.array([self.label(query, place) for place in places])
        if not (labels == _MAIN).any() or (labels > 0).all():
            return None
        hard = np.argsort(-summed(table, HARD), kind="stable")[:NEGATIVES]
        chance = np.random.default_rng(SEED).permutation(len(labels))[:NEGATIVES]
        kept = np.unique(np.concatenate([hard, chance, np.flatnonzero(labels > 0)]))
        kept = kept[labels[kept] != _UNKNOWN]
        return table[kept], labels[kept]

    def label(self, query: Query, place: Place) -> int:
        """The label of a row: 2 if it answers, 1 if it is accepted."""
        if query.source in ("commit", "name"):
            return _MAIN if place in query.main else 0
        if any(place.finds(one) for one in query.main):
            return _MAIN
        return _ACCEPTED if any(place.finds(one) for one in query.accepted) else 0


def summed(table: npt.NDArray[np.float32], weights: dict[str, float]) -> npt.NDArray[np.float64]:
    """The weighted sum of some features of each row."""
    columns = [DEFINITION_FEATURES.index(name) for name in weights]
    total: npt.NDArray[np.float64] = table[:, columns].astype(np.float64) @ np.array(list(weights.values()))
    return total


def main(arguments: list[str]) -> int:
    checkouts, target = map(Path, arguments)
    features, labels, groups, weights = [], [], [], []
    for listed in json.loads((FOLDER / "definitions.json").read_text()):
        checkout = checkouts / listed["name"]
        with ctx.open(checkout) as index:
            project = Project(index, checkout, listed)
            before = len(groups)
            for query in project.queries():
                example = project.example(query)
                if example is not None:
                    features.append(example[0])
                    labels.append(example[1])
                    groups.append(len(example[1]))
                    weights.append(np.full(len(example[1]), WEIGHTS[query.source]))
            print(f"{listed['name']}: {len(groups) - before} queries", flush=True)
    data = lightgbm.Dataset(
        np.concatenate(features), np.concatenate(labels), group=groups, weight=np.concatenate(weights)
    )
    model = lightgbm.train(PARAMETERS, data, TREES)
    target.write_bytes(pack(model, list(DEFINITION_FEATURES), {"format": FORMAT}))
    gains = zip(model.feature_importance("gain"), DEFINITION_FEATURES, strict=True)
    for gain, name in sorted(gains, reverse=True)[:30]:
        print(f"{gain:10.0f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
