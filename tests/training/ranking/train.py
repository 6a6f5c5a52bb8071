"""Train the ranker of files on collected candidates, and pack it.

    python tests/training/ranking/train.py FOLDER TARGET

FOLDER was written by `collect.py`; TARGET is the output folder, `ctx/ranking` to ship the file. Needs
LightGBM, which the program itself does not. One seed and one thread, so that the same candidates result in
the same trees.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import numpy.typing as npt
from collect import NOT_CODE, SEED
from pack import pack

from ctx.ranking.features import FEATURES
from ctx.ranking.gbdt import FORMAT, LEAVES

TREES = 240
PARAMETERS = {
    "objective": "lambdarank",
    "learning_rate": 0.1,
    "num_leaves": LEAVES,
    "min_data_in_leaf": 200,
    "lambda_l2": 20.0,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambdarank_truncation_level": 15,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbose": -1,
    "seed": SEED,
}


QUESTION = 2.0
"""Weight of a written question; that of a query from the history is 1."""


class Examples(NamedTuple):
    """Candidates of some queries: features (n, features), labels (n,), group sizes and weights (n,)."""

    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64]


def file_examples(found: Any) -> Examples:
    """The queries that have a target and another candidate."""
    query, label = found["query"], found["label"]
    queries = len(found["source"])
    code = (found["flags"] & NOT_CODE) == 0
    targets = np.bincount(query[label & code], minlength=queries)
    candidates = np.bincount(query[code], minlength=queries)
    usable = (targets > 0) & (candidates > targets)
    kept = code & usable[query]
    weights = np.where(found["source"] == "question", QUESTION, 1.0)[query[kept]]
    return Examples(found["features"][kept], label[kept].astype(np.int64), candidates[usable], weights)


def train(parts: list[Examples], parameters: dict[str, Any], trees: int) -> Any:
    """A LightGBM model of all examples."""
    features, labels, groups, weights = map(np.concatenate, zip(*parts, strict=True))
    names = [f"f{number}" for number in range(features.shape[1])]
    data = lightgbm.Dataset(features, labels, group=groups, weight=weights, feature_name=names)
    return lightgbm.train(parameters, data, trees)


def main(arguments: list[str]) -> int:
    folder, target = map(Path, arguments)
    listed = json.loads(Path(__file__).with_name("repositories.json").read_text())
    found = [np.load(folder / f"{one['name']}.npz") for one in listed if not one["held_out"]]
    files = train([file_examples(one) for one in found], PARAMETERS, TREES)
    (target / "ranker-1.bin").write_bytes(pack(files, list(FEATURES), {"format": FORMAT}))
    for gain, name in sorted(zip(files.feature_importance("gain"), FEATURES, strict=True), reverse=True):
        print(f"{gain:10.0f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
