"""The first commit of a feature, and how often it is found.

    python tests/benchmarks/yardsticks/firsts.py CHECKOUTS [--half choose|report] [--misses]

`firsts.json` has features of public projects in the words of a user. The first commit of each was found with
`git log -S` for a name of the feature, and checked by reading; where several commits made the first version,
any of them is right. The commit that `git ctx history --first` shows first is compared with it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from systems import clone

import ctx
from ctx.history.answer import FIRST, CommitFilters

SEED = 4


def main() -> None:
    """Ask for every feature, and print the shares with 95% intervals by a bootstrap over features."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--half", choices=["choose", "report"])
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    right, within, unsure = [], [], []
    for project in json.loads(Path(__file__).with_name("firsts.json").read_text(encoding="utf-8")):
        if options.half not in (None, project["half"]):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, project["name"])
            clone(options.checkouts / project["name"], folder)
            with ctx.open(folder) as index:
                for feature in project["features"]:
                    answer = index.history(
                        feature["query"],
                        CommitFilters(),
                        limit=3,
                        asks=FIRST,
                        revision=project["revision"],
                    )
                    found = [hit.commit in feature["commits"] for hit in answer.hits]
                    right.append(any(found[:1]))
                    within.append(any(found))
                    unsure.append(answer.message is not None)
                    if options.misses and not right[-1]:
                        print(f"{project['name']}: {feature['query']} ({answer.message})")
                        print(f"    wanted {[commit[:8] for commit in feature['commits']]}")
                        for hit in answer.hits:
                            print(f"    {hit.commit[:8]} {hit.subject}")
    sure = ~np.array(unsure)
    for name, values in (("first", np.array(right)), ("within 3", np.array(within))):
        chosen = np.random.default_rng(SEED).integers(0, len(values), (10_000, len(values)))
        low, high = np.percentile(values[chosen].mean(axis=1), [2.5, 97.5])
        known = values[sure].mean() if sure.any() else float("nan")
        print(
            f"{name}: {values.mean():.3f} ({low:.2f} to {high:.2f}) of {len(values)}; "
            f"{known:.3f} of {int(sure.sum())} without doubt, "
            f"{values[~sure].sum()} of {int((~sure).sum())} with"
        )


if __name__ == "__main__":
    main()
