"""Output of an evaluation, as text and as JSON, and its progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import click

from ctx.cli.commands.json_output import print_json, revision_fields
from ctx.search.evaluation.evaluate import Evaluation, Fitted, Part
from ctx.search.evaluation.fit import FEWEST
from ctx.search.evaluation.grades import CUTS, Difference, Grade
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize

_INTERVAL = 0.2
_LOG_INTERVAL = 10.0
_MOST_DIRECTORIES = 8
"""Seconds between two progress lines on a terminal, and in a log; maximum number of directories in tables."""
_COLUMNS = ("commits", *(f"R@{cut}" for cut in CUTS), "NDCG@10", "MRR", "chunks", "place")
_LEGEND = (
    "R@k: share of the changed files among the first k hits. chunks: NDCG@10 of the changed chunks.\n"
    "place: of the files that were found, how many show a changed line in their first hit."
)


class Steps:
    """Progress on stderr: one updated line on a terminal, a line every few seconds in a log."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._next = time.monotonic() + (0 if self._is_terminal else _LOG_INTERVAL)
        self._is_open = False

    def __enter__(self) -> Steps:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def step(self, what: str, done: int, most: int) -> None:
        """Print the progress, unless the last line is too recent."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + (_INTERVAL if self._is_terminal else _LOG_INTERVAL)
        line = f"{done:,} of {most:,} {what}"
        sys.stderr.write(f"\r{line}" if self._is_terminal else f"{line}\n")
        sys.stderr.flush()
        self._is_open = self._is_terminal

    def close(self) -> None:
        """Erase the line."""
        if self._is_open:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_open = False


def print_evaluation(found: Evaluation, fitting: bool) -> None:
    """Print an evaluation: sentences first, then tables."""
    for line in _lines(found, fitting):
        click.echo(escape_control(line))


def _lines(found: Evaluation, fitting: bool) -> list[str]:
    where = f"{found.asked.revision} ({found.asked.commit.hex()[:12]})" if found.asked.commit else ""
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in found.left_out.items())
    lines = []
    if found.interrupted:
        lines.append("interrupted; this is of the commits until then")
    if found.whole is None:
        why = left_out or "none has exactly one parent"
        return [
            *lines,
            f"none of the {pluralize(found.looked_at, 'commit')} looked at could be replayed: {why}",
        ]
    best = found.whole.grades[0]
    sentence = (
        f"for {best.found:,} of {pluralize(best.commits, 'commit')} that lead to {where} a changed file was "
        f"among the first ten hits, for {best.first:,} it was the first"
    )
    but = f"; left out: {left_out}" if left_out else ""
    lines += [sentence, f"{pluralize(found.looked_at, 'commit')} looked at{but}", ""]
    parts = [found.whole]
    for category, of_category in found.groups.items():
        shown = of_category[:_MOST_DIRECTORIES] if category == "directory" else of_category
        parts += [Part(f"{category}: {part.name}", part.grades) for part in shown]
    lines += _table([(part.name, part.grades[0]) for part in parts])
    if len(found.ways) > 1:
        lines += ["", *_table(list(zip(found.ways, found.whole.grades, strict=True)))]
        lines += [
            f"{way}: NDCG@10 {_difference(one)}"
            for way, one in zip(found.ways[1:], found.differences, strict=True)
        ]
    lines += ["", *_LEGEND.split("\n")]
    if fitting:
        lines += ["", *_fit_lines(found.fitted)]
    return lines


def _table(rows: Sequence[tuple[str, Grade]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    lines = [" " * width + "".join(f"{column:>9}" for column in _COLUMNS)]
    for name, grade in rows:
        figures = [*grade.recall, grade.ndcg, grade.mrr, grade.chunk_ndcg, grade.right_place]
        cells = "".join(f"{'-' if figure is None else f'{figure:.3f}':>9}" for figure in figures)
        lines.append(f"{name:{width}}{grade.commits:9,}{cells}")
    return lines


def _fit_lines(fitted: Fitted | None) -> list[str]:
    if fitted is None:
        return [f"nothing was fitted: {2 * FEWEST} commits at least are needed, half of them to try it on"]
    weights = ", ".join(f"{name} {weight:+.2f}" for name, weight in fitted.weights.items())
    tried = (
        f"on {pluralize(fitted.tried, 'later commit')}: NDCG@10 {fitted.before.ndcg:.3f} before, "
        f"{fitted.after.ndcg:.3f} after, {_difference(fitted.difference)}"
    )
    lines = [f"fit: learned from {pluralize(fitted.learned, 'older commit')} ({weights})", tried]
    if fitted.stored:
        lines.append("it helps: it is stored, and `git config ctx.fit true` lets searches use it")
    elif fitted.difference.mean > 0:
        lines.append("that may be chance, since the interval includes 0, so it is not stored")
    else:
        lines.append("it does not help, so it is not stored")
    return lines


def _difference(one: Difference) -> str:
    return f"{one.mean:+.3f} (95% interval {one.low:+.3f} to {one.high:+.3f})"


def print_json_evaluation(found: Evaluation) -> None:
    """Print an evaluation as one object."""
    print_json(
        {
            "type": "evaluation",
            **revision_fields(found.asked.revision, found.asked.commit, found.asked.tree),
            "commits": found.commits,
            "lookedAt": found.looked_at,
            "leftOut": found.left_out,
            "interrupted": found.interrupted,
            "settings": [
                {
                    "name": way,
                    "all": _grade_object(found.whole.grades[number]) if found.whole else None,
                    "groups": {
                        category: {part.name: _grade_object(part.grades[number]) for part in parts}
                        for category, parts in found.groups.items()
                    },
                    "difference": _difference_object(found.differences[number - 1])
                    if number and found.differences
                    else None,
                }
                for number, way in enumerate(found.ways)
            ],
            "fit": found.fitted and _fitted_object(found.fitted),
        }
    )


def _grade_object(grade: Grade) -> dict[str, Any]:
    return {
        "commits": grade.commits,
        "found": grade.found,
        "first": grade.first,
        "recall": {str(cut): round(value, 6) for cut, value in zip(CUTS, grade.recall, strict=True)},
        "ndcg": round(grade.ndcg, 6),
        "mrr": round(grade.mrr, 6),
        "chunkNdcg": round(grade.chunk_ndcg, 6),
        "rightPlace": None if grade.right_place is None else round(grade.right_place, 6),
    }


def _difference_object(one: Difference) -> dict[str, float]:
    return {"ndcg": round(one.mean, 6), "low": round(one.low, 6), "high": round(one.high, 6)}


def _fitted_object(fitted: Fitted) -> dict[str, Any]:
    return {
        "learnedFrom": fitted.learned,
        "triedOn": fitted.tried,
        "before": _grade_object(fitted.before),
        "after": _grade_object(fitted.after),
        "difference": _difference_object(fitted.difference),
        "weights": fitted.weights,
        "stored": fitted.stored,
    }
