"""Learn the confidence of an answer: `python tests/training/ranking/confidence.py CHECKOUTS TESTS`.

CHECKOUTS has the clones of the training questions, TESTS those of the test questions. The questions of a
project are asked of it and, as foreign ones, of three others. A logistic regression with a ridge of one is
fitted on the training projects and the first half of the test projects; the threshold is the third percentile
of the confidence of their own questions, each scored by a regression without its project. The second half is
only reported. Prints the constants of `ctx/ranking/confidence.py`.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import ctx
from ctx.ranking.confidence import confidence_features
from ctx.ranking.query import prepare
from ctx.ranking.ranker import POOL, read_pool
from ctx.search.hits import corpus_of

HERE = Path(__file__).parent
QUESTIONS = HERE.parents[1] / "benchmarks" / "yardsticks" / "questions"
FOREIGN = 3
SEED = 5
RIDGE = 1.0
STEPS = 50
DOUBTED = 3
"""Share in percent of the own questions that are doubted; fewer than the aim, as unseen ones vary."""

Floats = npt.NDArray[np.float64]


class Asked(NamedTuple):
    """A question of one project asked of another one or of itself, and its features."""

    origin: str
    project: str
    values: list[float]


def read_questions(folder: Path) -> dict[str, list[str]]:
    """Return the questions of each project."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        if file.name != "projects.json":
            read = json.loads(file.read_text(encoding="utf-8"))
            found[file.stem] = [one["question"] for one in read["questions"]]
    return found


def ask(questions: dict[str, list[str]], clones: dict[str, Path]) -> list[Asked]:
    """Return the features of every question, asked of its project and of others."""
    chosen = random.Random(SEED)
    asked: dict[str, list[tuple[str, str]]] = {name: [] for name in questions}
    for origin, texts in questions.items():
        others = [name for name in questions if name != origin]
        for text in texts:
            for project in (origin, *chosen.sample(others, FOREIGN)):
                asked[project].append((origin, text))
    found = []
    for project, own in asked.items():
        with ctx.open(clones[project]) as index:
            index.session.index("HEAD")
            corpus = corpus_of(index.session.indexer.view(index.session.resolve("HEAD")))
            for origin, text in own:
                pool = read_pool(corpus, prepare(text), None, POOL)
                if len(pool.scores):
                    found.append(Asked(origin, project, confidence_features(pool)))
    return found


def fit(values: Floats, own: Floats) -> tuple[Floats, Floats, float]:
    """Return means, weights and bias of a regression in which both classes weigh the same."""
    mean, scale = values.mean(axis=0), values.std(axis=0)
    table = np.c_[(values - mean) / scale, np.ones(len(values))]
    weight = np.where(own == 1, len(own) / (2 * own.sum()), len(own) / (2 * (1 - own).sum()))
    found = np.zeros(table.shape[1])
    ridge = np.diag([RIDGE] * (table.shape[1] - 1) + [0.0])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-table @ found))
        gradient = table.T @ (weight * (own - p)) - ridge @ found
        found += np.linalg.solve((table.T * (weight * p * (1 - p))) @ table + ridge, gradient)
    return mean, found[:-1] / scale, float(found[-1])


def main() -> int:
    """Fit, and print the constants and the shares of doubted questions."""
    trained, tested = Path(sys.argv[1]), Path(sys.argv[2])
    training, tests = read_questions(HERE / "functions"), read_questions(QUESTIONS)
    clones = {name: trained / name for name in training} | {name: tested / name for name in tests}
    halves = {one["name"]: one["half"] for one in json.loads((QUESTIONS / "projects.json").read_text())}
    held_out = {name for name, half in halves.items() if half == "report"}
    asked = ask(training | tests, clones)
    values = np.array([one.values for one in asked])
    own = np.array([one.origin == one.project for one in asked], dtype=np.float64)
    seen = np.array([not {one.origin, one.project} & held_out for one in asked])

    def score(mean: Floats, weights: Floats, bias: float) -> Floats:
        return (values - mean) @ weights + bias

    crossed = np.zeros(len(asked))
    for project in sorted({one.project for one in asked} - held_out):
        others = seen & np.array([project not in (one.origin, one.project) for one in asked])
        here = np.array([one.project == project for one in asked])
        crossed[here] = score(*fit(values[others], own[others]))[here]
    threshold = float(np.percentile(crossed[seen & (own == 1)], DOUBTED))
    mean, weights, bias = fit(values[seen], own[seen])
    final = score(mean, weights, bias)
    reported = np.array([one.project in held_out for one in asked])
    print("_MEAN =", tuple(round(float(one), 4) for one in mean))
    print("_WEIGHTS =", tuple(round(float(one), 4) for one in weights))
    print("_BIAS =", round(bias, 4))
    print("DOUBTFUL =", round(1 / (1 + float(np.exp(-threshold))), 4))
    for name, scores, some in (("seen", crossed, seen), ("unseen", final, reported)):
        shares = [float((scores[some & (own == kind)] < threshold).mean()) for kind in (1, 0)]
        print(f"{name}: {shares[0]:.3f} of own and {shares[1]:.3f} of foreign questions are doubted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
