"""Putting a reply together: text for the model and plain values, both within the tokens that were asked for.

Holds no tool. What comes from a repository goes through `printable` before it gets here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ctx.printable import printable
from ctx.tokens import counter

_BETWEEN = 2
"""Tokens between two hits: a line break in the text, a comma in the values."""


class Reply(NamedTuple):
    """What a tool says: text for the model, and the same without the code as plain values."""

    text: str
    values: dict[str, Any]


class Form(NamedTuple):
    """One way to say a hit: its plain values and its text."""

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
    """As many hits as fit into `most` tokens, in their order; each has forms, the longest first.

    `values` are what is said of all; the hits go below `key`. `nothing` is what to say without a hit.
    """
    count = counter()
    values = values | {"message": None if message is None else printable(message), key: []}
    parts = [f"note: {values['message']}"] if message else []
    # What is counted piece by piece is hardly ever less than the whole, which is counted in the end.
    used, there = count("\n".join(parts)) + count(as_json(values)), False
    for forms in hits:
        there = True
        for form in forms:
            cost = count(form.text) + count(as_json(form.value)) + _BETWEEN
            if used + cost <= most:
                break
        else:
            break
        used += cost
        parts.append(form.text)
        values[key].append(form.value)
    while values[key] and count("\n".join(parts)) + count(as_json(values)) > most:
        parts.pop()
        values[key].pop()
    if not there:
        parts.append(nothing)
    elif not values[key]:
        parts.append(f"what was found needs more than {most} tokens: raise maxTokens")
    return Reply("\n".join(parts), values)


def numbered(lines: Sequence[str], first: int) -> str:
    """Lines with their numbers and a tab before them."""
    return "\n".join(f"{number}\t{printable(line)}" for number, line in enumerate(lines, first))


def as_json(values: dict[str, Any]) -> str:
    """The plain values as they are sent."""
    return json.dumps(values, ensure_ascii=False)
