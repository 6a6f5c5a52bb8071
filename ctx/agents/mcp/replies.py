"""Composition of replies: text for the model and plain values, together within a token limit.

Contains no tools. Text from a repository has to go through `escape_control` before it gets here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize
from ctx.text.tokens import Count, counter

_BETWEEN = 2
"""Number of tokens between two hits: a line break in the text, a comma in the values."""


class Reply(NamedTuple):
    """Result of a tool: text for the model, and the same without the code as plain values."""

    text: str
    values: dict[str, Any]


def revision_values(name: str, commit: str | None, tree: str) -> dict[str, Any]:
    """Return the fields that identify the revision of a reply, named as in the JSON output."""
    return {"revision": commit or tree, "revisionName": escape_control(name), "tree": tree}


class Form(NamedTuple):
    """One form of a hit: its plain values and its text."""

    value: dict[str, Any]
    text: str


def listed(
    values: dict[str, Any],
    key: str,
    hits: Iterable[Iterable[Form]],
    most: int,
    message: str | None,
    nothing: str,
) -> Reply:
    """Return a reply with as many hits as fit into `most` tokens, in order; each has forms, longest first.

    The first hit gets up to half of the tokens, the others start with their shortest forms. The remaining
    tokens go to longer forms, best hit first. `values` are the common fields, of which the text repeats
    `rankedWith`; the hits go below `key`. `nothing` is the text for a reply without hits.
    """
    count = counter()
    values = values | {"message": None if message is None else escape_control(message), key: []}
    notes = [f"note: {values['message']}"] if message else []
    if ranked_with := values.get("rankedWith"):
        notes.append(f"ranked with {', '.join(ranked_with)}")
    # The sum of the parts is rarely less than the count of the whole, which is checked at the end.
    room, there = most - count("\n".join(notes)) - count(as_json(values)), False
    laid: list[list[tuple[int, Form]]] = []
    places: list[int] = []
    for forms in hits:
        there = True
        priced = _priced(forms, count)
        place = len(priced) - 1
        if not laid:
            place = next((at for at, (cost, _) in enumerate(priced) if cost <= room // 2), place)
        if priced[place][0] > room:
            break
        room -= priced[place][0]
        laid.append(priced)
        places.append(place)
    for at, priced in enumerate(laid):
        now = priced[places[at]][0]
        better = next((place for place in range(places[at]) if priced[place][0] - now <= room), places[at])
        room -= priced[better][0] - now
        places[at] = better
    shown = [priced[place][1] for priced, place in zip(laid, places, strict=True)]
    while True:
        parts = [*notes, *(form.text for form in shown)]
        values = values | {key: [form.value for form in shown]}
        if not shown or count("\n".join(parts)) + count(as_json(values)) <= most:
            break
        shown.pop()
    if not there:
        parts.append(nothing)
    elif not shown:
        parts.append(f"what was found needs more than {pluralize(most, 'token')}: raise maxTokens")
    return Reply("\n".join(parts), values)


def _priced(forms: Iterable[Form], count: Count) -> list[tuple[int, Form]]:
    """Return the forms of a hit with their token counts; values shared by several forms are counted once."""
    priced: list[tuple[int, Form]] = []
    for form in forms:
        if not priced or form.value is not priced[-1][1].value:
            of_values = count(as_json(form.value)) + _BETWEEN
        priced.append((count(form.text) + of_values, form))
    return priced


def numbered(lines: Sequence[str], first: int) -> list[str]:
    """Return lines prefixed with their number and a tab."""
    return [f"{number}\t{escape_control(line)}" for number, line in enumerate(lines, first)]


def as_json(values: dict[str, Any]) -> str:
    """Return plain values as the JSON text that is sent."""
    return json.dumps(values, ensure_ascii=False)
