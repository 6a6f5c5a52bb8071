"""Print the tables of one or more runs, and the differences between two programs or two runs.

    python tests/benchmarks/yardsticks/report.py RESULTS… [--by category|language|project] [--yardstick NAME]
    python tests/benchmarks/yardsticks/report.py RESULTS… --add LABEL
    python tests/benchmarks/yardsticks/report.py NEW… --against OLD…

If two programs answered, their common queries are compared: the difference, and its 95% interval by a paired
bootstrap over projects. `--add` writes a line for each benchmark and program to RESULTS.md. `--against`
compares git-ctx in two runs.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from results import Result, read

from ctx.search.evaluation import measures
from ctx.search.evaluation.measures import Target

TABLE = Path(__file__).with_name("RESULTS.md")
HEADINGS = (
    "queries", "NDCG@10", "R@1", "R@5", "R@10", "R@12", "MRR",
    "chunk NDCG@10", "chunk R@10", "chunk MRR", "right chunk first", "right function first",
    "tokens for recall 0.9",
)  # fmt: skip
RESAMPLES = 2000
SEED = 4
_WANTED_RECALL = 0.9


def of_files(measure: Callable[..., float], *cut: int) -> Callable[[Result], float | None]:
    """A measure over the files, or the annotated locations, of a result."""
    return lambda result: measure(measures.ranks(result.shown, result.files), *cut)


def of_places(measure: Callable[..., float], *cut: int) -> Callable[[Result], float | None]:
    """A measure over the chunks of a result, None if no chunk was given."""
    return lambda result: (
        measure(measures.ranks(result.shown, result.places), *cut) if result.places else None
    )


MEASURES: dict[str, Callable[[Result], float | None]] = {
    "NDCG@10": of_files(measures.ndcg, 10),
    "R@1": of_files(measures.recall, 1),
    "R@5": of_files(measures.recall, 5),
    "R@10": of_files(measures.recall, 10),
    "R@12": of_files(measures.recall, 12),
    "MRR": of_files(measures.reciprocal_rank),
    "chunk NDCG@10": of_places(measures.ndcg, 10),
    "chunk R@10": of_places(measures.recall, 10),
    "chunk MRR": of_places(measures.reciprocal_rank),
    "right chunk first": lambda result: (
        measures.right_place_first(result.shown, result.places) if result.places else None
    ),
    "right function first": lambda result: (
        measures.right_place_first(result.shown, result.functions) if result.functions else None
    ),
}


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not None."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def tokens_for_recall(results: Sequence[Result]) -> str:
    """The amount to read, best first, until nine tenths of the files were seen on average."""
    events: list[tuple[int, float]] = []
    for result in results:
        read_until = np.cumsum(result.tokens).tolist()
        found = measures.ranks(result.shown, [Target(target.path) for target in result.files])
        events += [(read_until[rank - 1], 1 / len(found)) for rank in found if rank is not None]
    seen = 0.0
    for count, share in sorted(events):
        seen += share
        if seen >= _WANTED_RECALL * len(results):
            return f"{count:,}"
    return f"not in {len(results[0].shown)} results ({seen / len(results):.2f})"


def row(results: Sequence[Result]) -> list[str]:
    """The figures of some results, in the order of HEADINGS."""
    figures = [mean(measure(result) for result in results) for measure in MEASURES.values()]
    shown = ["-" if figure is None else f"{figure:.3f}" for figure in figures]
    return [str(len(results)), *shown, tokens_for_recall(results)]


def bootstrap(
    ours: Sequence[Result], theirs: Sequence[Result], measure: Callable[[Result], float | None]
) -> tuple[float, float, float]:
    """The mean difference over the common queries, and its 95% interval over projects."""
    other = {(result.yardstick, result.query): result for result in theirs}
    differences: dict[str, list[float]] = defaultdict(list)
    for result in ours:
        against = other.get((result.yardstick, result.query))
        if against is not None:
            values = measure(result), measure(against)
            if values[0] is not None and values[1] is not None:
                differences[result.project].append(values[0] - values[1])
    sums = np.array([sum(one) for one in differences.values()])
    counts = np.array([len(one) for one in differences.values()])
    if not len(sums):
        return (float("nan"),) * 3
    chosen = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    spread = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.percentile(spread, [2.5, 97.5])
    return float(sums.sum() / counts.sum()), float(low), float(high)


def print_table(heading: str, rows: dict[str, list[str]]) -> None:
    """A table in Markdown."""
    print(f"\n| {heading} | " + " | ".join(HEADINGS) + " |")
    print("|---" * (len(HEADINGS) + 1) + "|")
    for name, figures in rows.items():
        print(f"| {name} | " + " | ".join(figures) + " |")


def print_differences(ours: Sequence[Result], theirs: Sequence[Result], heading: str) -> None:
    """The advantage of one side in every measure."""
    print(f"\n{heading}: difference and 95% interval (paired bootstrap over projects)")
    for name, measure in MEASURES.items():
        difference, low, high = bootstrap(ours, theirs, measure)
        if difference == difference:  # NaN if nothing was compared
            print(f"  {name:18} {difference:+.3f}  [{low:+.3f}, {high:+.3f}]")


def grouped(results: Iterable[Result], *names: str) -> dict[tuple[str, ...], list[Result]]:
    found: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        found[tuple(getattr(result, name) for name in names)].append(result)
    return dict(sorted(found.items()))


def common(results: Sequence[Result]) -> list[Result]:
    """The queries that every program answered."""
    systems = {result.system for result in results}
    answered: dict[str, set[str]] = defaultdict(set)
    for result in results:
        answered[result.query].add(result.system)
    return [result for result in results if answered[result.query] == systems]


def add(results: Sequence[Result], label: str) -> None:
    """Add a line for each benchmark and program to the table of results."""
    revision = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"], check=True, capture_output=True, text=True
    ).stdout.strip()
    if not TABLE.exists():
        TABLE.write_text(
            "| label | commit | yardstick | system | " + " | ".join(HEADINGS) + " |\n"
            + "|---" * (len(HEADINGS) + 4) + "|\n"
        )  # fmt: skip
    with TABLE.open("a") as file:
        for (yardstick,), asked in grouped(results, "yardstick").items():
            sides = {f"{system}, all": own for (system,), own in grouped(asked, "system").items()}
            both = common(asked)
            if len(both) < len(asked):
                sides = {"git-ctx, all": sides["git-ctx, all"]}
                sides |= {f"{system}, both asked": own for (system,), own in grouped(both, "system").items()}
            for system, own in sides.items():
                cells = [label, revision, yardstick, system, *row(own)]
                file.write("| " + " | ".join(cells) + " |\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+")
    parser.add_argument("--by", choices=["category", "language", "project"])
    parser.add_argument("--yardstick")
    parser.add_argument("--add", metavar="LABEL")
    parser.add_argument("--against", nargs="+", metavar="OLD")
    options = parser.parse_args()
    results = [
        result for result in read(options.results) if options.yardstick in (None, result.yardstick)
    ]  # fmt: skip
    if options.add:
        add(results, options.add)
        return
    if options.against:
        old = [result for result in read(options.against) if result.system == "git-ctx"]
        new = [result for result in results if result.system == "git-ctx"]
        for (yardstick,), own in grouped(new, "yardstick").items():
            print_differences(own, old, yardstick)
        return
    for (yardstick,), asked in grouped(results, "yardstick").items():
        both = common(asked)
        tables: dict[str, list[Result]] = {}
        for (system,), own in grouped(asked, "system").items():
            tables[f"{system}, all"] = own
        if len(both) < len(asked):
            for (system,), own in grouped(both, "system").items():
                tables[f"{system}, both asked"] = own
        print_table(yardstick, {name: row(own) for name, own in tables.items()})
        if options.by:
            parts = grouped(both, options.by, "system")
            print_table(
                f"{options.by}, all asked" if len(both) == len(asked) else f"{options.by}, both asked",
                {" ".join(key): row(own) for key, own in parts.items()},
            )
        if len({result.system for result in asked}) > 1:
            sides: dict[tuple[str, ...], list[Result]] = grouped(both, "system")
            ours = sides.pop(("git-ctx",))
            for (system,), theirs in sides.items():
                print_differences(ours, theirs, f"{yardstick}, git-ctx against {system}")


if __name__ == "__main__":
    main()
