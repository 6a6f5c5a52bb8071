"""Grouping of hits on the screen: the definitions of a file together, and tests below what they test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctx.cli.commands.snippet import telling_line
from ctx.text.escaping import display_line
from ctx.types import Hit


class Group(NamedTuple):
    """The best hit of a file, its further hits in the same file, and the tests of all of these."""

    best: Hit
    others: list[Hit]
    tests: list[Hit]


def grouped(hits: Sequence[Hit]) -> list[Group]:
    """Return hits in groups, in the order of their best hits.

    Hits that say something of their own, such as a change, form a group each.
    """
    places = {(hit.path, hit.symbol) for hit in hits}
    groups: list[Group] = []
    of_file: dict[str, Group] = {}
    of_symbol: dict[tuple[str, str], Group] = {}
    for hit in hits:
        if hit.tests is not None and hit.tests in places:
            continue
        stands_alone = bool(hit.change or hit.duplicate or hit.evolution)
        group = of_file.get(hit.path)
        if group is None or stands_alone:
            group = Group(hit, [], [])
            groups.append(group)
        else:
            group.others.append(hit)
        of_symbol.setdefault((hit.path, hit.symbol), group)
        if not stands_alone:
            of_file[hit.path] = group
    for hit in hits:
        if hit.tests is not None and hit.tests in of_symbol:
            of_symbol[hit.tests].tests.append(hit)
    return groups


def signature_of(hit: Hit, query: str) -> tuple[int, str]:
    """Return the line to show of a further hit, and its text.

    It is the signature of a definition, the headings or keys of a part of a document, and the line of any
    other text that matches the query best.
    """
    first, signature = hit.position.start_line, hit.signature
    if signature is not None:
        return signature[0], display_line(signature[1]).strip()
    text = hit.text
    if text is None or (hit.symbol and hit.kind in ("section", "entry")):
        return first, display_line(hit.symbol)
    place = telling_line(text, query)
    return first + place, display_line(text.split("\n")[place]).strip()
