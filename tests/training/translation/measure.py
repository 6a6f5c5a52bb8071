"""Measure how well questions in other languages find their files, with and without the lexicon.

    python tests/training/translation/measure.py CHECKOUTS [-v]

CHECKOUTS has the projects named in `questions.txt`. Prints for each language the mean of 1 / rank of the
first file that answers, over the first ten files (MRR@10): without the lexicon, with it, and for the same
question in English.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import ctx
import ctx.ranking.query

translate = ctx.ranking.query.translate


def reciprocal(index: ctx.Index, question: str, wanted: set[str]) -> float:
    files: list[str] = []
    for hit in index.search(question, limit=40, overlay="committed").hits:
        if hit.path not in files:
            files.append(hit.path)
    ranks = [rank for rank, file in enumerate(files[:10], 1) if file in wanted]
    return 1.0 / ranks[0] if ranks else 0.0


def main() -> None:
    checkouts = Path(sys.argv[1])
    lines = (Path(__file__).parent / "questions.txt").read_text(encoding="utf-8").splitlines()
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for line in lines:
        if line.startswith("#"):
            continue
        project, language, question, files, english = line.split(" | ")
        wanted = set(files.split(", "))
        with ctx.open(checkouts / project) as index:
            ctx.ranking.query.translate = translate
            now, ceiling = (reciprocal(index, text, wanted) for text in (question, english))
            ctx.ranking.query.translate = lambda text: None
            before = reciprocal(index, question, wanted)
        found[language].append((before, now, ceiling))
        found["all"].append((before, now, ceiling))
        if "-v" in sys.argv:
            print(f"{before:.2f} {now:.2f} {ceiling:.2f}  {project}: {question} => {translate(question)}")
    print("language  without  with  English")
    for language, values in found.items():
        means = [sum(column) / len(values) for column in zip(*values, strict=True)]
        print(f"{language:8} " + "".join(f"{mean:8.3f}" for mean in means))


if __name__ == "__main__":
    main()
