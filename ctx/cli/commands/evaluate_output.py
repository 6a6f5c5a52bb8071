"""Output of an evaluation, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctx.cli.commands.printing import fields_of, revision_fields
from ctx.search.evaluation.evaluate import Evaluation
from ctx.search.evaluation.grades import CUTS, Difference, Grade
from ctx.text.pluralize import pluralize

_MOST_DIRECTORIES = 8
"""Maximum number of directories in tables."""
_COLUMNS = ("commits", *(f"R@{cut}" for cut in CUTS), "NDCG@10", "MRR", "chunks", "place")
_LEGEND = (
    "R@k: share of the changed files among the first k hits. chunks: NDCG@10 of the changed chunks.\n"
    "place: of the files that were found, how many show a changed line in their first hit."
)


def lines(found: Evaluation) -> list[str]:
    """Return an evaluation as text: sentences first, then tables."""
    where = (
        f"{found.resolution.revision} ({found.resolution.commit.hex()[:12]})"
        if found.resolution.commit
        else ""
    )
    left_out = ", ".join(f"{count:,} {reason}" for reason, count in found.left_out.items())
    text = ["interrupted; the report covers the commits graded until then"] if found.interrupted else []
    if not found.grades:
        why = left_out or "none has exactly one parent"
        return [*text, f"none of {pluralize(found.examined, 'commit')} could be replayed: {why}"]
    best = found.grades[0]
    sentence = (
        f"for {best.found:,} of {pluralize(best.commits, 'commit')} that lead to {where} a changed file was "
        f"among the first ten hits, for {best.first:,} it was the first"
    )
    but = f"; left out: {left_out}" if left_out else ""
    text += [sentence, f"{pluralize(found.examined, 'commit')} looked at{but}", ""]
    rows = [("all", best)]
    for category, parts in found.groups.items():
        most = _MOST_DIRECTORIES if category == "directory" else None
        rows += [(f"{category}: {name}", grades[0]) for name, grades in list(parts.items())[:most]]
    text += _table(rows)
    if len(found.settings) > 1:
        text += ["", *_table(list(zip(found.settings, found.grades, strict=True)))]
        text += [
            f"{way}: NDCG@10 {_difference(one)}"
            for way, one in zip(found.settings[1:], found.differences, strict=True)
        ]
    return [*text, "", *_LEGEND.split("\n")]


def _table(rows: Sequence[tuple[str, Grade]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    lines = [" " * width + "".join(f"{column:>9}" for column in _COLUMNS)]
    for name, grade in rows:
        figures = [*grade.recall, grade.ndcg, grade.mrr, grade.chunk_ndcg, grade.right_place]
        cells = "".join(f"{'-' if figure is None else f'{figure:.3f}':>9}" for figure in figures)
        lines.append(f"{name:{width}}{grade.commits:9,}{cells}")
    return lines


def _difference(one: Difference) -> str:
    return f"{one.mean:+.3f} (95% interval {one.low:+.3f} to {one.high:+.3f})"


def fields(found: Evaluation) -> dict[str, Any]:
    """Return an evaluation as one object."""
    return {
        "type": "evaluation",
        **revision_fields(found.resolution.revision, found.resolution.commit_id, found.resolution.tree.hex()),
        "commits": found.commits,
        "lookedAt": found.examined,
        "leftOut": found.left_out,
        "interrupted": found.interrupted,
        "settings": [
            {
                "name": way,
                "all": _grade_object(found.grades[number]) if found.grades else None,
                "groups": {
                    category: {name: _grade_object(grades[number]) for name, grades in parts.items()}
                    for category, parts in found.groups.items()
                },
                "difference": _difference_object(found.differences[number - 1])
                if number and found.differences
                else None,
            }
            for number, way in enumerate(found.settings)
        ],
    }


def _grade_object(grade: Grade) -> dict[str, Any]:
    recall = {str(cut): round(value, 6) for cut, value in zip(CUTS, grade.recall, strict=True)}
    return _rounded(fields_of(grade)) | {"recall": recall}


def _difference_object(one: Difference) -> dict[str, Any]:
    return _rounded(fields_of(one, mean="ndcg"))


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 6) if isinstance(value, float) else value for key, value in fields.items()}
