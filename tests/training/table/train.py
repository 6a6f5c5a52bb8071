"""Train the static embedding on collected pairs.

    python tests/training/table/train.py PAIRS START TABLE

PAIRS is the folder written by `pairs.py`, START the initial vectors (an .npz of `tokens` and int8 `vectors`,
see docs/model.md), TABLE the .npz to write, which `pack.py` packs. Needs numpy and scipy (scipy only here).
With OMP_NUM_THREADS=1 the same pairs result in the same table.

A text is the sum over its distinct words of (1 + ln count) x weight x row. Words have two weights, one in
queries and one in documents. The loss is InfoNCE over the pairs of a batch; documents are compared as the
sign bits that are stored, and the gradient goes through as if they were the normalised sums (straight
through).
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy import sparse
from words import counted, numbering

from ctx.text.vocabulary import Vocabulary

SEED = 4
DIMENSIONS = 128
WORDS = 24_000
FEWEST_REPOSITORIES = 3
LONGEST = 24
BUCKETS = 4_096
BATCH = 1024
EPOCHS = 2
RATE = 3e-3
TEMPERATURE = 0.05
DROPOUT = 0.2
MOST = {"commit": 900, "comment": 600, "name": 900}
"""Most pairs of these kinds from one repository; other kinds have no limit."""
FLOAT_SHARE = 0.3
"""Share of the loss over float documents, beside sign bits; stabilizes the start."""
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8

Floats = npt.NDArray[np.float32]


class Rows(NamedTuple):
    """Texts in compressed rows: bounds (texts + 1,), rows of the table, (1 + ln count)."""

    at: npt.NDArray[np.int64]
    row: npt.NDArray[np.int32]
    value: Floats

    def take(
        self, texts: npt.NDArray[np.int64], keep: npt.NDArray[np.bool_] | None, rows: int
    ) -> sparse.csr_matrix:
        """Some texts as a sparse matrix (texts, rows); `keep` drops entries."""
        lengths = self.at[texts + 1] - self.at[texts]
        ends = np.cumsum(lengths)
        place = np.arange(int(ends[-1])) + np.repeat(self.at[texts] - (ends - lengths), lengths)
        value = self.value[place]
        if keep is not None:
            value = value * keep[: len(value)]
        return sparse.csr_matrix(
            (value, self.row[place], np.concatenate([[0], ends])), shape=(len(texts), rows)
        )


class Pairs(NamedTuple):
    """All pairs: queries, codes, and the target of each code (equal targets are not negatives)."""

    query: Rows
    code: Rows
    target: npt.NDArray[np.int64]
    kind: npt.NDArray[np.str_]


class Counted(NamedTuple):
    """The pairs of one repository, words numbered by their places in `words`."""

    words: list[str]
    query: dict[str, Any]
    code: dict[str, Any]
    target: npt.NDArray[np.int64]
    kind: list[str]


def read(path: Path) -> Counted:
    """Read and count the pairs of one repository."""
    pairs, taken = [], Counter[str]()
    for line in path.read_text().splitlines():
        pair = json.loads(line)
        taken[pair[0]] += 1
        if taken[pair[0]] <= MOST.get(pair[0], sys.maxsize):
            pairs.append(pair)
    numbers, row = numbering()
    vocabulary = Vocabulary(row)
    query = counted([pair[1] for pair in pairs], vocabulary)
    code = counted([pair[2] for pair in pairs], vocabulary)
    return Counted(
        list(numbers),
        query,
        code,
        np.array([pair[3] for pair in pairs], dtype=np.int64),
        [pair[0] for pair in pairs],
    )


def vocabulary_of(repositories: list[Counted]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """The words with rows, the most frequent first, and the number of texts with each."""
    spread: Counter[str] = Counter()
    texts: Counter[str] = Counter()
    for found in repositories:
        count = np.bincount(found.code["word"], minlength=len(found.words))
        count += np.bincount(found.query["word"], minlength=len(found.words))
        spread.update(found.words)
        texts.update(dict(zip(found.words, count.tolist(), strict=True)))
    kept = [word for word, count in spread.items() if count >= FEWEST_REPOSITORIES and len(word) <= LONGEST]
    kept.sort(key=lambda word: (-spread[word] * texts[word], word))
    kept = kept[:WORDS]
    return kept, np.array([texts[word] for word in kept], dtype=np.int64)


def join(repositories: list[Counted], words: list[str]) -> Pairs:
    """The pairs of all repositories with words as rows of the table."""
    known = {word: row for row, word in enumerate(words)}
    rows = [np.array([row_of(word, known) for word in found.words], dtype=np.int32) for found in repositories]

    def side(name: str) -> Rows:
        parts = [getattr(found, name) for found in repositories]
        return Rows(
            np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part["at"]) for part in parts]))]),
            np.concatenate([row[part["word"]] for row, part in zip(rows, parts, strict=True)]),
            np.concatenate(
                [(1 + np.log(np.minimum(part["times"], 1024))).astype(np.float32) for part in parts]
            ),
        )

    target = np.concatenate([found.target + (number << 32) for number, found in enumerate(repositories)])
    return Pairs(
        side("query"), side("code"), target, np.array([kind for found in repositories for kind in found.kind])
    )


def row_of(word: str, known: dict[str, int]) -> int:
    """The row of a word, as `ctx.models.static_embedding` finds it."""
    found = known.get(word)
    return len(known) + crc32(word.encode("utf-8", "surrogatepass")) % BUCKETS if found is None else found


def start(source: Path, words: list[str], chance: np.random.Generator) -> tuple[Floats, Floats]:
    """First vectors of the words, (words + buckets, DIMENSIONS), and those of all start words, by name."""
    with np.load(source) as given:
        tokens, vectors = [str(token) for token in given["tokens"]], given["vectors"].astype(np.float32)
    vectors -= vectors.mean(axis=0)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    reduced = vectors @ axes[:, ::-1][:, :DIMENSIONS]
    # A rotation spreads the variance of the first axes, so that all sign bits carry equal information.
    turned, _ = np.linalg.qr(chance.standard_normal((DIMENSIONS, DIMENSIONS)))
    reduced = (reduced @ turned.astype(np.float32)).astype(np.float32)
    size = float(np.linalg.norm(reduced, axis=1).mean())
    table = chance.standard_normal((len(words) + BUCKETS, DIMENSIONS)).astype(np.float32)
    table *= 0.5 * size / DIMENSIONS**0.5
    place = {token: number for number, token in enumerate(tokens)}
    for row, word in enumerate(words):
        if word in place:
            table[row] = reduced[place[word]]
    return table / size, reduced / size


class Adam:
    """Adam (Kingma and Ba 2015) on one array, in place."""

    def __init__(self, values: Floats) -> None:
        self.values, self.steps = values, 0
        self.first, self.second = np.zeros_like(values), np.zeros_like(values)

    def step(self, gradient: Floats, rate: float) -> None:
        self.steps += 1
        self.first += (1 - _BETA_1) * (gradient - self.first)
        np.square(gradient, out=gradient)
        self.second += (1 - _BETA_2) * (gradient - self.second)
        scale = np.float32(1 / (1 - _BETA_2**self.steps) ** 0.5)
        bottom = np.sqrt(self.second)
        bottom *= scale
        bottom += _EPSILON
        np.divide(self.first, bottom, out=bottom)
        bottom *= np.float32(rate / (1 - _BETA_1**self.steps))
        self.values -= bottom


def _normalised(vectors: Floats) -> tuple[Floats, Floats]:
    length = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    return vectors / length, length


def _through_norm(gradient: Floats, unit: Floats, length: Floats) -> Floats:
    result: Floats = (gradient - unit * (gradient * unit).sum(axis=1, keepdims=True)) / length
    return result


def contrast(query: Floats, code: Floats, same: npt.NDArray[np.bool_]) -> tuple[float, Floats, Floats]:
    """InfoNCE of unit queries against codes: the mean loss, its gradients by queries and by codes."""
    similar = (query @ code.T) / np.float32(TEMPERATURE)
    similar[same] = -1e4
    similar -= similar.max(axis=1, keepdims=True)
    share = np.exp(similar)
    share /= share.sum(axis=1, keepdims=True)
    right = np.arange(len(query))
    loss = float(-np.log(np.maximum(share[right, right], 1e-12)).mean())
    share[right, right] -= 1
    share /= np.float32(len(query) * TEMPERATURE)
    return loss, share @ code, share.T @ query


def train(pairs: Pairs, table: Floats, frequency: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """The trained rows and the weights of words in queries and in documents."""
    chance = np.random.default_rng(SEED)
    count = len(pairs.target)
    rare = np.ones(len(table), dtype=np.float32)
    rare[: len(frequency)] = np.log(count * 2 / np.maximum(frequency, 1)) / np.log(count * 2 / 100)
    weight_query, weight_code = np.log(np.clip(rare, 0.1, 1.2)), np.log(np.clip(rare, 0.1, 1.2))
    steps = [Adam(table), Adam(weight_query), Adam(weight_code)]
    batches = count // BATCH
    total, started, running = EPOCHS * batches, time.time(), 0.0
    for epoch in range(EPOCHS):
        order = chance.permutation(count)
        for number in range(batches):
            chosen = order[number * BATCH : (number + 1) * BATCH]
            entries = int((pairs.query.at[chosen + 1] - pairs.query.at[chosen]).sum())
            query_words = pairs.query.take(chosen, chance.random(entries) >= DROPOUT, len(table))
            code_words = pairs.code.take(chosen, None, len(table))
            scale_query, scale_code = np.exp(weight_query)[:, None], np.exp(weight_code)[:, None]
            query, query_length = _normalised(query_words @ (table * scale_query))
            code, code_length = _normalised(code_words @ (table * scale_code))
            target = pairs.target[chosen]
            same = (target[:, None] == target[None, :]) & ~np.eye(BATCH, dtype=bool)
            signs = np.where(code >= 0, np.float32(1), np.float32(-1)).astype(np.float32, copy=False)
            bits = signs / np.float32(DIMENSIONS**0.5)
            loss, by_query, by_code = contrast(query, bits, same)
            if FLOAT_SHARE:
                _, by_query_float, by_code_float = contrast(query, code, same)
                by_query = (1 - FLOAT_SHARE) * by_query + FLOAT_SHARE * by_query_float
                by_code = (1 - FLOAT_SHARE) * by_code + FLOAT_SHARE * by_code_float
            in_query = query_words.T @ _through_norm(by_query, query, query_length)
            in_code = code_words.T @ _through_norm(by_code, code, code_length)
            rate = RATE * (1 - (epoch * batches + number) / total)
            by_weight_query = (in_query * table).sum(axis=1) * scale_query[:, 0]
            by_weight_code = (in_code * table).sum(axis=1) * scale_code[:, 0]
            steps[0].step(in_query * scale_query + in_code * scale_code, rate)
            steps[1].step(by_weight_query, rate)
            steps[2].step(by_weight_code, rate)
            running += 0.02 * (loss - running) if running else loss
            if (epoch * batches + number) % 100 == 0:
                print(
                    f"{epoch * batches + number}/{total} loss {running:.3f} {time.time() - started:.0f} s",
                    flush=True,
                )
    return table, np.exp(weight_query), np.exp(weight_code)


def main(arguments: list[str]) -> int:
    folder, source, target = map(Path, arguments)
    repositories = [read(path) for path in sorted(folder.glob("*.jsonl"))]
    words, frequency = vocabulary_of(repositories)
    pairs = join(repositories, words)
    print(f"{len(repositories)} repositories, {len(pairs.target)} pairs, {len(words)} words", flush=True)
    table, _ = start(source, words, np.random.default_rng(SEED))
    table, query, code = train(pairs, table, frequency)
    np.savez(
        target,
        tokens=np.array(words),
        vectors=table,
        query=query,
        code=code,
        frequency=frequency,
        buckets=BUCKETS,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
