"""Measure how much of the answer is in the first tokens read: git-ctx, semble, and grep plus reading files.

    python tests/benchmarks/tokens.py ANNOTATIONS CHECKOUTS [--semble PYTHON --model FOLDER] [--only NAME …]

ANNOTATIONS and CHECKOUTS are those of `retrieval.py`. Each program fills 1,000, 2,000 and 4,000 tokens of
o200k_base; the measure is the share of the annotated locations in them, averaged over queries. git-ctx is the
tool `code_search` as served, including its structured content. Each result of semble follows a line with path
and lines. grep ranks files by the rarer words of the question that they contain, ignoring case, and reads
either from the top or 40 lines around the line with most of these words; the output of grep itself is not
counted.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).with_name("yardsticks")))

from retrieval import Target, targets
from systems import Semble

from ctx.agents.mcp.project import Project
from ctx.agents.mcp.tools import CODE_SEARCH, check_arguments
from ctx.text.tokens import counter

BUDGETS = (1000, 2000, 4000)
WINDOW = 40
LARGEST = 1_000_000
STOP = frozenset(
    "the and for how where what when which with from into that this are does done not all its has have can "
    "use used using between over per via".split()
)


class Shown(NamedTuple):
    """Lines of a file, and the text with them."""

    path: str
    first: int
    last: int
    text: str


def shows(shown: list[Shown], target: Target) -> bool:
    """Return True if a target is among the excerpts."""
    last = target.last if target.last is not None else target.first
    return any(
        (one.path == target.path or one.path.endswith("/" + target.path))
        and (target.first is None or (one.first <= (last or 0) and one.last >= target.first))
        for one in shown
    )


def fill(results: Iterator[Shown], budget: int) -> list[Shown]:
    """The excerpts that fit; the last one is truncated to the lines that fit."""
    count, shown, used = counter(), [], 0
    for one in results:
        cost = count(one.text) + 1
        if used + cost <= budget:
            shown.append(one)
            used += cost
            continue
        lines = one.text.split("\n")
        while len(lines) > 1 and used + count("\n".join(lines)) > budget:
            lines = lines[: len(lines) * 3 // 4]
        if len(lines) > 1:
            shown.append(one._replace(last=one.first + len(lines) - 2))
        break
    return shown


def ours(project: Project, query: str, root: str | None, budget: int) -> list[Shown]:
    """The excerpts of `code_search` within a budget."""
    given: dict[str, Any] = {"text": query, "maxTokens": budget}
    if root:
        given["pathFilter"] = root
    reply = project.call("code_search", check_arguments(CODE_SEARCH, given))
    assert counter()(reply.text) + counter()(json.dumps(reply.values, ensure_ascii=False)) <= budget
    found = []
    for hit, text in zip(reply.values["hits"], pieces(reply.text), strict=True):
        numbers = [int(line.split("\t")[0]) for line in text.split("\n")[1:] if re.match(r"\d+\t", line)]
        first, last = (min(numbers), max(numbers)) if numbers else (hit["startLine"], hit["startLine"])
        found.append(Shown(hit["path"], first, last, text))
    return found


def pieces(text: str) -> list[str]:
    """The hits of an answer, each with its heading: lines of code begin with their number."""
    found: list[list[str]] = []
    for line in text.split("\n"):
        if re.search(r"\[[0-9a-f]{12}:\d+-\d+\]$", line) and not re.match(r"\d+\t", line):
            found.append([])
        if found:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


class Grep:
    """The tracked files of a checkout, read once."""

    def __init__(self, checkout: Path, root: str | None) -> None:
        listed = subprocess.run(
            ["git", "-C", str(checkout), "ls-files", "-z", "--", root or "."], check=True, capture_output=True
        )
        self._texts: dict[str, str] = {}
        for path in filter(None, listed.stdout.decode(errors="replace").split("\0")):
            file = checkout / path
            if file.is_file() and file.stat().st_size <= LARGEST and b"\0" not in (data := file.read_bytes()):
                self._texts[path] = data.decode(errors="replace")
        self._lower = {path: text.lower() for path, text in self._texts.items()}

    def _ranked(self, words: list[str]) -> list[str]:
        having = {word: {path for path, text in self._lower.items() if word in text} for word in words}
        score: dict[str, float] = defaultdict(float)
        for paths in having.values():
            for path in paths:
                score[path] += math.log(1 + len(self._lower) / len(paths))
        times = {path: sum(self._lower[path].count(word) for word in words) for path in score}
        return sorted(score, key=lambda path: (-score[path], -times[path], path))

    def read(self, query: str, *, around: bool) -> Iterator[Shown]:
        """Files that have the words of a query, best first, from the top or around the best line."""
        words = list(dict.fromkeys(word for word in re.findall(r"\w{3,}", query.lower()) if word not in STOP))
        for path in self._ranked(words):
            lines = self._texts[path].split("\n")
            start = 0
            if around:
                low = self._lower[path].split("\n")
                best = max(range(len(low)), key=lambda at: (sum(word in low[at] for word in words), -at))
                start = max(0, best - WINDOW // 2)
                lines = lines[start : start + WINDOW]
            head = f"{path}:{start + 1}-{start + len(lines)}"
            yield Shown(path, start + 1, start + len(lines), "\n".join([head, *lines]))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("annotations", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--semble", metavar="PYTHON")
    parser.add_argument("--model", metavar="FOLDER")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args(arguments)
    semble = SembleTexts(given.semble, given.model) if given.semble else None
    recall: dict[tuple[str, int], list[float]] = defaultdict(list)
    for repository in json.loads((given.annotations / "repos.json").read_text()):
        name, root = repository["name"], repository.get("benchmark_root")
        if given.only and name not in given.only:
            continue
        asked = json.loads((given.annotations / "annotations" / f"{name}.json").read_text())
        checkout = given.checkouts / name
        project, grep = Project(str(checkout)), Grep(checkout, root)
        found = semble.texts(checkout, root or "", [one["query"] for one in asked]) if semble else None
        for number, one in enumerate(asked):
            wanted = targets(one)
            for budget in BUDGETS:
                shown = {
                    "git-ctx": ours(project, one["query"], root, budget),
                    "grep, whole files": fill(grep.read(one["query"], around=False), budget),
                    f"grep, {WINDOW} lines": fill(grep.read(one["query"], around=True), budget),
                }
                if found is not None:
                    shown["semble"] = fill(iter(found[number]), budget)
                for program, lines in shown.items():
                    share = sum(shows(lines, target) for target in wanted) / len(wanted)
                    recall[program, budget].append(share)
        project.close()
        print(name, file=sys.stderr, flush=True)
    if semble:
        semble.close()
    for program in dict.fromkeys(program for program, _ in recall):
        shares = [recall[program, budget] for budget in BUDGETS]
        means = "  ".join(
            f"{budget:,}: {sum(one) / len(one):.3f}" for budget, one in zip(BUDGETS, shares, strict=True)
        )
        print(f"{program:18} {means}  ({len(shares[0])} queries)")
    return 0


class SembleTexts(Semble):
    """semble, with the text of its results."""

    def texts(self, checkout: Path, root: str, queries: list[str]) -> list[list[Shown]]:
        """The excerpts of semble for each query in a folder of a checkout, best first."""
        return [
            [
                Shown(f"{root}/{path}", first, last, f"{path}:{first}-{last}\n{text}")
                for path, first, last, text in results
            ]
            for results in self.ask(checkout / root, queries)
        ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
