"""Candidates with their features and labels, for every query of a repository's history.

    python tests/bench/ranking/collect.py CHECKOUTS FOLDER [NAME …]

CHECKOUTS holds one clone a name of `repositories.json`; FOLDER gets one npz file for each.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import history
import numpy as np

import ctx
from ctx.embed.wordtable import word_table
from ctx.engine import RepositoryIndex
from ctx.rank.corpus import Corpus
from ctx.rank.evidence import gather
from ctx.rank.features import FEATURES, file_features
from ctx.rank.query import prepare
from ctx.rank.ranker import candidates_of
from ctx.records import decode_record
from ctx.views import paths
from ctx.views.view import View

SEED = 4
NOT_CODE = paths.DOCS | paths.CONFIG | paths.DATA | paths.VENDORED
ASIDE = NOT_CODE | paths.TEST | paths.EXAMPLE
"""What half of the queries leave out, as people do who search in the folder of the sources."""
CAPS = {"after": 80, "before": 60, "added": 0, "topic": 30}
HELD_OUT_CAPS = {"after": 100, "before": 50, "added": 80, "topic": 0}
SYMBOLS = 50
_DEFINED = {"function", "method", "class", "interface", "struct", "enum", "trait", "object", "type", "module"}


def symbols(
    index: RepositoryIndex, view: View, code: list[int], chance: random.Random
) -> list[history.Example]:
    """Names that one file alone defines."""
    where: dict[str, set[int]] = defaultdict(set)
    for file in code:
        segment = view.segments[int(view.file_segment[file])]
        key = segment.key(int(view.file_document[file]))
        record = decode_record(index.clusters.record(view.cluster_of(file), key))
        for kind, names in zip(record.kinds, record.names, strict=True):
            for name in names if kind in _DEFINED else ():
                where[name].add(file)
    single = sorted(
        (name, next(iter(files)))
        for name, files in where.items()
        if len(files) == 1 and len(name) > 3 and name.replace("_", "").isalnum()
    )
    chosen = chance.sample(single, min(SYMBOLS, len(single)))
    return [history.Example(name, (os.fsdecode(view.path(file)),), "symbol", "") for name, file in chosen]


def collect(checkout: Path, repository: dict[str, Any]) -> dict[str, Any]:
    """All queries of one repository."""
    with ctx.open(checkout) as index:
        index.index(revision=repository["revision"], jobs=1)
        view = index.indexer.view(index.resolve(repository["revision"]))
        corpus = Corpus(view)
        code = [
            file
            for file in np.flatnonzero(corpus.file_document >= 0).tolist()
            if not view.file_flags[file] & NOT_CODE and corpus.document_rows[corpus.file_document[file]]
        ]
        number = {os.fsdecode(view.path(file)): file for file in code}
        caps = HELD_OUT_CAPS if repository["held_out"] else CAPS
        made = history.examples(checkout, repository["head"], repository["revision"], set(number), caps, SEED)
        made += symbols(index, view, code, random.Random(f"{SEED}-{repository['name']}"))
        plain = np.zeros(view.files, dtype=bool)
        plain[code] = (view.file_flags[code] & ASIDE) == 0
        among = corpus.shown_among(np.flatnonzero(plain))
        columns: dict[str, list[Any]] = defaultdict(list)
        asked = []
        for number_of_query, example in enumerate(made):
            narrow = [path for path in example.paths if plain[number[path]]]
            ways = [(example.paths, corpus.shown, False)] if not (narrow and number_of_query % 2) else []
            if narrow and (repository["held_out"] or not ways):
                ways.append((tuple(narrow), among, True))
            asked += [(example, *way) for way in ways]
        for place, (example, wanted_paths, shown, narrowed) in enumerate(asked):
            query = prepare(example.text, word_table())
            evidence = gather(corpus, query)
            documents = candidates_of(corpus, evidence, shown >= 0)
            files = shown[documents]
            wanted = {int(corpus.file_document[number[path]]) for path in wanted_paths}
            label = np.isin(documents, list(wanted))
            columns["features"].append(file_features(corpus, query, evidence, documents, files))
            columns["label"].append(label)
            columns["flags"].append(view.file_flags[files])
            columns["query"].append(np.full(len(documents), place))
            columns["narrow"].append(narrowed)
            columns["asked"].append(query.asked)
            columns["targets"].append(len(wanted))
            columns["test_targets"].append(
                len([1 for path in wanted_paths if view.file_flags[number[path]] & paths.TEST])
            )
        whole = ("features", "label", "flags", "query")
        return {
            name: np.concatenate(values) if name in whole else np.array(values)
            for name, values in columns.items()
        } | {
            "names": np.array(FEATURES),
            "source": np.array([example.source for example, *_ in asked]),
            "text": np.array([example.text for example, *_ in asked]),
        }


def main(arguments: list[str]) -> int:
    checkouts, folder, *names = arguments
    Path(folder).mkdir(parents=True, exist_ok=True)
    listed = Path(__file__).with_name("repositories.json")
    for repository in json.loads(listed.read_text()):
        if names and repository["name"] not in names:
            continue
        found = collect(Path(checkouts, repository["name"]), repository)
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
