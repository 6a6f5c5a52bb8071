"""Collect candidates with features and labels, for queries from a repository's history and written ones.

    python tests/training/ranking/collect.py CHECKOUTS FOLDER [NAME …]

CHECKOUTS has one clone for each name of `repositories.json`; FOLDER gets one npz file for each.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import history
import numpy as np
import numpy.typing as npt

import ctx
from ctx.index import Index
from ctx.ranking.candidates import read_candidates, select_candidates
from ctx.ranking.corpus import Corpus
from ctx.ranking.features import FEATURES, file_features
from ctx.ranking.query import prepare
from ctx.ranking.signals import read_signals
from ctx.storage.records import Record, decode_record
from ctx.storage.views import paths

SEED = 4
NOT_CODE = paths.DOCS | paths.CONFIG | paths.DATA | paths.VENDORED
ASIDE = NOT_CODE | paths.TEST | paths.EXAMPLE
"""Paths that half of the queries exclude, as users do who search in the source folder."""
CAPS = {"after": 60, "before": 45, "added": 0, "topic": 25}
HELD_OUT_CAPS = {"after": 50, "before": 25, "added": 30, "topic": 0}
CANDIDATES = 150
"""Candidates for each query; a search reads fewer, training uses more."""
SYMBOLS = 40
STACKED = ("features", "label", "flags", "query")
_DEFINED = {"function", "method", "class", "interface", "struct", "enum", "trait", "object", "type", "module"}


def symbols(project: Project, chance: random.Random) -> list[history.Example]:
    """Names that only one file defines."""
    where: dict[str, set[int]] = defaultdict(set)
    for file in project.code:
        record = project.record(file)
        for kind, names in zip(record.kinds, record.names, strict=True):
            for name in names if kind in _DEFINED else ():
                where[name].add(file)
    single = sorted(
        (name, next(iter(files)))
        for name, files in where.items()
        if len(files) == 1 and len(name) > 3 and name.replace("_", "").isalnum()
    )
    chosen = chance.sample(single, min(SYMBOLS, len(single)))
    return [
        history.Example(name, (os.fsdecode(project.view.path(file)),), "symbol", "") for name, file in chosen
    ]


def questions(name: str, code: set[str]) -> list[history.Example]:
    """Questions that were written for a repository by reading the names in its files."""
    listed = json.loads(Path(__file__).with_name("questions.json").read_text())
    found = [
        (one["query"], tuple(path for path in one["paths"] if path in code)) for one in listed.get(name, [])
    ]
    return [history.Example(query, paths, "question", "") for query, paths in found if paths]


class Asked(NamedTuple):
    """A query, the paths that answer it, the files of its documents, and whether it excludes tests."""

    example: history.Example
    paths: tuple[str, ...]
    shown: npt.NDArray[np.int64]
    narrow: bool


class Project:
    """A repository with its tree open for searches."""

    def __init__(self, index: Index, checkout: Path, repository: dict[str, Any]) -> None:
        revision = repository["revision"]
        index.index(revision=revision, jobs=1)
        self.index, self.checkout, self.repository = index, checkout, repository
        self.view = index.session.indexer.view(index.resolve(revision))
        self.corpus = corpus = Corpus(self.view)
        self.code = [
            file
            for file in np.flatnonzero(corpus.file_document >= 0).tolist()
            if not self.view.file_flags[file] & NOT_CODE and corpus.document_rows[corpus.file_document[file]]
        ]
        self.number = {os.fsdecode(self.view.path(file)): file for file in self.code}

    def record(self, file: int) -> Record:
        """The stored chunks of a file."""
        key = self.corpus.key(int(self.corpus.file_document[file]))
        return decode_record(self.index.session.record(self.view, self.view.cluster_of(file), key))

    def asked(self) -> list[Asked]:
        """All queries; half of them exclude tests and the like, questions are asked in both ways."""
        name, held_out = self.repository["name"], self.repository["held_out"]
        made = history.examples(
            self.checkout, self.repository["head"], self.repository["revision"], set(self.number),
            HELD_OUT_CAPS if held_out else CAPS, SEED,
        )  # fmt: skip
        made += symbols(self, random.Random(f"{SEED}-{name}"))
        made += questions(name, set(self.number))
        plain = np.zeros(self.view.files, dtype=bool)
        plain[self.code] = (self.view.file_flags[self.code] & ASIDE) == 0
        among = self.corpus.shown_among(np.flatnonzero(plain))
        found = []
        for place, example in enumerate(made):
            narrow = tuple(path for path in example.paths if plain[self.number[path]])
            both = example.source == "question"
            if not narrow or both or place % 2 == 0:
                found.append(Asked(example, example.paths, self.corpus.shown, False))
            if narrow and (both or place % 2):
                found.append(Asked(example, narrow, among, True))
        return found


def collect(project: Project) -> dict[str, Any]:
    """The candidates of all queries of one project."""
    corpus, view = project.corpus, project.view
    asked = project.asked()
    columns: dict[str, list[Any]] = defaultdict(list)
    for place, (example, wanted_paths, shown, narrow) in enumerate(asked):
        query = prepare(example.text)
        signals = read_signals(corpus, query)
        documents = np.flatnonzero((shown >= 0) & (corpus.document_rows > 0))
        documents = documents[
            select_candidates(corpus, signals, documents, np.zeros(len(documents)), CANDIDATES)
        ]
        files = shown[documents]
        candidates, speaking = read_candidates(corpus, query, signals, documents, files)
        wanted = {int(corpus.file_document[project.number[path]]) for path in wanted_paths}
        for name, value in {
            "features": file_features(corpus, query, signals, candidates, speaking),
            "label": np.isin(documents, list(wanted)),
            "flags": view.file_flags[files],
            "query": np.full(len(documents), place),
            "narrow": narrow,
            "asked": query.requested,
            "targets": len(wanted),
            "test_targets": sum(
                1 for path in wanted_paths if view.file_flags[project.number[path]] & paths.TEST
            ),
            "source": example.source,
            "text": example.text,
        }.items():
            columns[name].append(value)
    return {
        name: np.concatenate(values) if name in STACKED else np.array(values)
        for name, values in columns.items()
    } | {"names": np.array(FEATURES)}


def main(arguments: list[str]) -> int:
    checkouts, folder, *names = arguments
    Path(folder).mkdir(parents=True, exist_ok=True)
    listed = Path(__file__).with_name("repositories.json")
    for repository in json.loads(listed.read_text()):
        if names and repository["name"] not in names:
            continue
        checkout = Path(checkouts, repository["name"])
        with ctx.open(checkout) as index:
            found = collect(Project(index, checkout, repository))
        np.savez(Path(folder, repository["name"] + ".npz"), **found)
        in_pool = np.bincount(found["query"][found["label"]], minlength=len(found["source"]))
        queries = len(found["source"])
        print(
            f"{repository['name']} {queries} queries, candidates {len(found['label']) / queries:.0f},"
            f" targets found {in_pool.sum() / found['targets'].sum():.3f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
