"""Train the ranker on collected candidates and pack it.

    python tests/bench/ranking/train.py FOLDER RANKER

FOLDER is what `collect.py` wrote; RANKER the file to write, `ctx/rank/ranker-1.bin` to ship it. Needs
LightGBM, which the program itself never does. One seed and one thread, so that the same candidates give the
same trees.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from collect import NOT_CODE, SEED
from pack import pack

from ctx.rank.features import FEATURES
from ctx.rank.trees import FORMAT, LEAVES

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


def examples(found: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Features, labels and group sizes of the queries that have a target and something else."""
    query, label = found["query"], found["label"]
    queries = int(query.max()) + 1
    code = (found["flags"] & NOT_CODE) == 0
    targets = np.bincount(query[label & code], minlength=queries)
    candidates = np.bincount(query[code], minlength=queries)
    usable = (targets > 0) & (candidates > targets)
    kept = code & usable[query]
    return found["features"][kept], label[kept].astype(np.int64), candidates[usable]


def train(folder: Path, names: list[str]) -> Any:
    """A LightGBM model of all repositories named."""
    parts = [examples(np.load(folder / f"{name}.npz")) for name in names]
    data = lightgbm.Dataset(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
        group=np.concatenate([part[2] for part in parts]),
        feature_name=[f"f{number}" for number in range(len(FEATURES))],
    )
    return lightgbm.train(PARAMETERS, data, TREES)


def main(arguments: list[str]) -> int:
    folder, ranker = map(Path, arguments)
    listed = json.loads(Path(__file__).with_name("repositories.json").read_text())
    model = train(folder, [repository["name"] for repository in listed if not repository["held_out"]])
    ranker.write_bytes(pack(model, list(FEATURES), {"format": FORMAT}))
    gains = zip(model.feature_importance("gain"), FEATURES, strict=True)
    for gain, name in sorted(gains, reverse=True):
        print(f"{gain:10.0f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
