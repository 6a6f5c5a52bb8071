"""Measure a static embedding alone: the annotated benchmark and the history of held-out projects.

    export PYTHONPATH=tests/training/ranking
    python tests/training/table/evaluate.py collect ANNOTATIONS CHECKOUTS HELD_OUT FOLDER
    python tests/training/table/evaluate.py TABLE FOLDER

`collect` splits and counts everything once; ANNOTATIONS and CHECKOUTS as for `retrieval.py`, HELD_OUT has the
held-out clones of `ranking/repositories.json`. Then any table (a packed file) is measured in seconds: NDCG@10
of files by their best chunk, chunks as sign bits against a float query, and as float vectors.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import history
import numpy as np
import numpy.typing as npt
from sources import pieces
from words import counted, numbering

from ctx.models.static_embedding import StaticEmbedding
from ctx.storage.views import paths
from ctx.text.vocabulary import Counts, Vocabulary

CUT = 10
_CAPS = {"after": 100, "before": 50, "topic": 0, "added": 0}
Floats = npt.NDArray[np.float64]


def collect(
    repository: Path, revision: str, root: str, queries: Callable[[list[str]], Any]
) -> dict[str, Any]:
    """Chunks with their files, and queries with their relevant files."""
    found = pieces(repository, revision, None)
    found = [piece for piece in found if piece.path.startswith(root)]
    listed = sorted({piece.path for piece in found})
    number = {path: place for place, path in enumerate(listed)}
    asked = queries(listed)
    numbers, row = numbering()
    vocabulary = Vocabulary(row)
    chunks = counted([piece.text for piece in found], vocabulary)
    texts = counted([text for text, _, _ in asked], vocabulary)
    tests = {piece.path for piece in found if piece.flags & (paths.TEST | paths.DOCS | paths.EXAMPLE)}
    return {
        "words": np.frombuffer("\n".join(numbers).encode("utf-8", "surrogatepass"), dtype=np.uint8),
        "chunk_file": np.array([number[piece.path] for piece in found], dtype=np.int64),
        "aside": np.array([path in tests for path in listed]),
        "wanted": np.array(json.dumps([sorted(files) for _, files, _ in asked])),
        "category": np.array([category for _, _, category in asked]),
    } | {
        f"{side}_{name}": value
        for side, rows in (("chunk", chunks), ("query", texts))
        for name, value in rows.items()
    }


def annotated(annotations: list[dict[str, Any]], listed: list[str]) -> list[tuple[str, list[int], str]]:
    """The queries of a benchmark that have an answer, with the files that answer them."""
    asked = []
    for annotation in annotations:
        items = [*annotation["relevant"], *annotation.get("secondary", [])]
        targets = {item if isinstance(item, str) else item["path"] for item in items}
        files = [
            place
            for place, path in enumerate(listed)
            if any(path == target or path.endswith("/" + target) for target in targets)
        ]
        asked.append((annotation["query"], files, annotation["category"]))
    return asked


def scores(found: Any, table: StaticEmbedding) -> tuple[Floats, Floats, Floats]:
    """NDCG@10 of each query: chunks as bits, as floats, as bits with a file's three best chunks summed."""
    words = found["words"].tobytes().decode("utf-8", "surrogatepass").split("\n")
    rows = np.array([table.row(word) for word in words], dtype=np.int64)
    chunks = _chunks(found, rows, table)
    queries = _queries(found, rows, table)
    queries /= np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-9)
    lengths = np.linalg.norm(chunks, axis=1, keepdims=True)
    bits = np.where(chunks >= 0, 1.0, -1.0) / chunks.shape[1] ** 0.5
    files, file = len(found["aside"]), found["chunk_file"]
    order = np.argsort(file, kind="stable")
    starts = np.searchsorted(file[order], np.arange(files))
    graded = []
    for vectors in (bits, chunks / np.maximum(lengths, 1e-9)):
        similar = (queries @ vectors.T)[:, order]
        best = np.maximum.reduceat(similar, starts, axis=1)
        graded.append(_ndcg(best, found))
        if len(graded) == 1:
            summed = _best_three(similar, starts, files)
    return graded[0], graded[1], _ndcg(summed, found)


def _best_three(similar: Floats, starts: npt.NDArray[np.int64], files: int) -> Floats:
    ends = np.append(starts[1:], similar.shape[1])
    summed = np.empty((len(similar), files))
    for place, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        part = np.maximum(similar[:, start:end], 0.0)
        top = part if end - start <= 3 else -np.partition(-part, 2, axis=1)[:, :3]
        summed[:, place] = top.sum(axis=1)
    return summed


def _queries(found: Any, rows: npt.NDArray[np.int64], table: StaticEmbedding) -> Floats:
    at, row, times = found["query_at"], rows[found["query_word"]], found["query_times"]
    sums = []
    for start, end in pairwise(at.tolist()):
        count = Counter[int]()
        for one, often in zip(row[start:end].tolist(), times[start:end].tolist(), strict=True):
            count[one] += often
        sums.append(table.weighted_sum(count, table.query_scales))
    return np.array(sums)


def _chunks(found: Any, rows: npt.NDArray[np.int64], table: StaticEmbedding) -> Floats:
    at = found["chunk_at"]
    text = np.repeat(np.arange(len(at) - 1), np.diff(at))
    return table.sums(
        Counts(text, rows[found["chunk_word"]], found["chunk_times"].astype(np.int64)), len(at) - 1
    )


def _ndcg(values: Floats, found: Any) -> Floats:
    graded = []
    for row, files in zip(values, json.loads(str(found["wanted"])), strict=True):
        if not files:
            graded.append(0.0)
            continue
        top = np.argsort(-row, kind="stable")[:CUT]
        gain = (np.isin(top, files) / np.log2(np.arange(len(top)) + 2)).sum()
        graded.append(gain / (1 / np.log2(np.arange(min(CUT, len(files))) + 2)).sum())
    return np.array(graded)


def grade(folder: Path, table: StaticEmbedding) -> dict[str, dict[str, float]]:
    """Means by set, category and way of scoring, with the number of queries."""
    graded: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as found:
            found = {name: found[name] for name in found.files}
        for category, *values in zip(found["category"].tolist(), *scores(found, table), strict=True):
            for key in (path.name.split("-")[0], f"{path.name.split('-')[0]} {category}"):
                graded[key].append(tuple(values))
    return {
        key: {"bits": mean[0], "float": mean[1], "three": mean[2], "queries": len(values)}
        for key, values in sorted(graded.items())
        for mean in [np.array(values).mean(axis=0).tolist()]
    }


def main(arguments: list[str]) -> int:
    if arguments[0] != "collect":
        for key, means in grade(Path(arguments[1]), StaticEmbedding(arguments[0])).items():
            print(f"{key:20}", *[f"{name} {value:.4f}" for name, value in means.items()])
        return 0
    annotations, checkouts, held_out, folder = map(Path, arguments[1:])
    folder.mkdir(parents=True, exist_ok=True)
    for repository in json.loads((annotations / "repos.json").read_text()):
        name = repository["name"]
        asked = json.loads((annotations / "annotations" / f"{name}.json").read_text())
        root = repository.get("benchmark_root")
        if (folder / f"dev-{name}.npz").exists():
            continue
        found = collect(
            checkouts / name,
            "HEAD",
            f"{root}/" if root else "",
            partial(annotated, asked),
        )
        np.savez(folder / f"dev-{name}.npz", **found)
    listed = json.loads(Path(__file__).parents[1].joinpath("ranking", "repositories.json").read_text())
    for repository in listed:
        if not repository["held_out"]:
            continue
        name, head, revision = repository["name"], repository["head"], repository["revision"]
        if (folder / f"commits-{name}.npz").exists():
            continue

        def queries(
            files: list[str], path: Path = held_out / name, head: str = head, tree: str = revision
        ) -> Any:
            number = {file: place for place, file in enumerate(files)}
            made = history.examples(path, head, tree, set(files), _CAPS, 4)
            return [(one.text, [number[file] for file in one.paths], one.source) for one in made]

        found = collect(held_out / name, revision, "", queries)
        np.savez(folder / f"commits-{name}.npz", **found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
