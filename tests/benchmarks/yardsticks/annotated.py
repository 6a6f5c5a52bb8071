"""Run the annotated benchmark (DEV): queries with the locations that answer them.

    python tests/benchmarks/yardsticks/annotated.py ANNOTATIONS CHECKOUTS OUT [--semble PYTHON --model MODEL]

ANNOTATIONS has `repos.json` and `annotations/<name>.json`, CHECKOUTS one git checkout for each name, at the
revision in `repos.json`; nothing is written there. NDCG@10 over `files` is the measure of the benchmark: a
target with lines is found if its lines are shown, one without if its file is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from results import write
from systems import Ours, Semble, checkout, clone, command_line

import ctx
from ctx.search.evaluation.measures import Target
from ctx.storage.views.view import View


def targets(annotation: dict[str, Any], view: View) -> list[Target]:
    """The relevant and the secondary locations of a query, by the paths of the tree."""
    found = []
    for item in [*annotation["relevant"], *annotation.get("secondary", [])]:
        place: dict[str, Any] = {"path": item} if isinstance(item, str) else item
        wanted = os.fsencode(place["path"])
        whole = next((path for path in view.paths if path == wanted or path.endswith(b"/" + wanted)), wanted)
        first = place.get("start_line")
        lines = () if first is None else ((first, place.get("end_line") or first),)
        found.append(Target(whole, lines))
    return found


def grade(
    annotations: Path, checkouts: Path, repository: dict[str, Any], out: Any, semble: Semble | None
) -> int:
    """Write the results of one repository, and return the number of its queries."""
    name, root = repository["name"], repository.get("benchmark_root") or ""
    head = subprocess.check_output(["git", "-C", checkouts / name, "rev-parse", "HEAD"], text=True).strip()
    asked = json.loads((annotations / "annotations" / f"{name}.json").read_text())
    texts = [annotation["query"] for annotation in asked]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, name)
        clone(checkouts / name, folder)
        checkout(folder, head)
        with ctx.open(folder) as index:
            ours = Ours(index)
            view = ours.parents.view(index.resolve(head).tree)
            places = [targets(annotation, view) for annotation in asked]
            answers = [(ours.name, ours.search(view, texts, [f":(top){root}"] if root else []))]
        if semble is not None:
            prefix = root + "/" if root else ""
            found = [
                [[[prefix + path for path in paths], *rest] for paths, *rest in results]
                for results in semble.search(folder / root, texts)
            ]
            answers.append((semble.name, found))
        for system, results in answers:
            for annotation, wanted, shown in zip(asked, places, results, strict=True):
                text = annotation["query"]
                write(
                    out, "annotated", system, repository, annotation["category"], f"{name} {text}", text,
                    wanted, [target for target in wanted if target.lines], shown,
                )  # fmt: skip
    return len(asked)


def main() -> int:
    options = command_line("annotations", "checkouts", "out").parse_intermixed_args()
    semble = Semble(options.semble, options.model) if options.semble else None
    with options.out.open("a") as out:
        for repository in json.loads((options.annotations / "repos.json").read_text()):
            if options.names and repository["name"] not in options.names:
                continue
            done = grade(options.annotations, options.checkouts, repository, out, semble)
            print(f"{repository['name']}: {done} queries", file=sys.stderr, flush=True)
    if semble is not None:
        semble.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
