"""Measure NDCG@10 on annotated repositories: queries with the files that answer them.

    python tests/benchmarks/retrieval.py ANNOTATIONS CHECKOUTS [NAME …]

ANNOTATIONS has `repos.json` and `annotations/<name>.json`, CHECKOUTS one git checkout for each name, at the
revision in `repos.json`. A target counts at the rank of the first result whose path matches and,
where the target has lines, whose lines overlap; relevance is binary; the ideal has min(10, targets) hits
on top.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import ctx
from ctx.types import Hit

CUT = 10


class Target(NamedTuple):
    path: str
    first: int | None
    last: int | None


def targets(annotation: dict[str, Any]) -> list[Target]:
    """The relevant and the secondary locations of a query."""
    found = []
    for item in [*annotation["relevant"], *annotation.get("secondary", [])]:
        if isinstance(item, str):
            found.append(Target(item, None, None))
        else:
            found.append(Target(item["path"], item.get("start_line"), item.get("end_line")))
    return found


def matches(hit: Hit, target: Target) -> bool:
    """Return True if a result shows a target."""
    if not any(("/" + path).endswith("/" + target.path) for path in (hit.path, *hit.also_at)):
        return False
    if target.first is None:
        return True
    last = target.last if target.last is not None else target.first
    return hit.lines[0] <= last and hit.lines[1] >= target.first


def ndcg(hits: list[Hit], wanted: list[Target]) -> float:
    """NDCG@10 of one ranking."""
    gain = 0.0
    for target in wanted:
        rank = next((rank for rank, hit in enumerate(hits[:CUT]) if matches(hit, target)), None)
        if rank is not None:
            gain += 1 / math.log2(rank + 2)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(CUT, len(wanted))))


def main(arguments: list[str]) -> int:
    annotations, checkouts, *names = arguments
    scores: dict[str, list[float]] = defaultdict(list)
    for repository in json.loads(Path(annotations, "repos.json").read_text()):
        name = repository["name"]
        if names and name not in names:
            continue
        root = repository.get("benchmark_root")
        with ctx.open(Path(checkouts, name)) as index:
            for annotation in json.loads(Path(annotations, "annotations", f"{name}.json").read_text()):
                paths = [f":(top){root}"] if root else []
                answer = index.search(annotation["query"], limit=CUT, paths=paths)
                score = ndcg(answer.hits, targets(annotation))
                for key in (
                    "all",
                    f"kind {annotation['category']}",
                    f"language {repository['language']}",
                    f"repository {name}",
                ):
                    scores[key].append(score)
                if os.environ.get("SHOW_MISSES") and score < 1:
                    print(f"{name}\t{annotation['category']}\t{score:.2f}\t{annotation['query']}")
                    print("   want", [target.path for target in targets(annotation)])
                    print(
                        "   got ",
                        [f"{hit.path}:{hit.lines[0]} {hit.symbol}" for hit in answer.hits[:4]],
                    )
    for key, values in sorted(scores.items()):
        print(f"{sum(values) / len(values):.3f}  {len(values):4}  {key}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
