"""Evidence in words: a few short sentences about a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctx.ranking.explain import CORRECTION, FURTHER_ROW, TO_THE_LETTER
from ctx.ranking.query_terms import IDENTIFIER, LITERAL, STEM, TRANSLATION
from ctx.search.evidence.values import SYNONYM

_MOST_NAMED = 4
_SHORT = 12
"""Digits of a commit's id."""
_LONGEST_SUBJECT = 80
_WORTH_SAYING = 0.05
_HOW = {
    LITERAL: "has {}",
    IDENTIFIER: "has {} in names",
    STEM: "has forms of {}",
    TRANSLATION: "has {}",
    SYNONYM: "has what is near {}",
}
_BY_GROUP = {
    "vectors": "means something near the question",
    "references": "names other answers, or is named by them",
    "folder": "lies beside other answers",
}


def reasons(
    path: bytes, evidence: Sequence[Mapping[str, Any]], parts: Mapping[str, float]
) -> tuple[str, ...]:
    """What speaks for a file, and what against it, the most telling first."""
    said = []
    symbols = [str(one["symbol"]) for one in evidence if one["kind"] == "symbol"]
    if symbols:
        said.append(f"defines {_named(symbols)}")
    for origin, form in _HOW.items():
        found = [one for one in evidence if one["kind"] == "lexical" and one["origin"] == origin]
        if found:
            said.append(form.format(_named([_term(one) for one in found])))
    if parts.get(TO_THE_LETTER, 0.0) > _WORTH_SAYING:
        said.append("says it to the letter")
    paths = [one for one in evidence if one["kind"] == "path"]
    if paths:
        said.append(f"its path has {_named([_path_word(one) for one in paths])}")
    said += [text for group, text in _BY_GROUP.items() if parts.get(group, 0.0) > _WORTH_SAYING]
    said += _connections(path.decode("utf-8", "replace"), evidence)
    if parts.get(CORRECTION, 0.0) > _WORTH_SAYING:
        said.append("was changed with such questions before")
    changed = [one for one in evidence if one["kind"] == "history" and "commit" in one]
    said += [f"was changed by {one['commit'][:_SHORT]} {_cut(one['subject'])}".rstrip() for one in changed]
    against = [
        name
        for name, value in parts.items()
        if value < 0 and (name.startswith(("a ", "an ")) or name in _PLAIN_KINDS)
    ]
    said += [f"loses as {name}" for name in against if name != FURTHER_ROW]
    return tuple(said)


_PLAIN_KINDS = {"vendored", "documentation", "configuration", "data", "declarations only", "legacy"}


def _connections(path: str, evidence: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which other answers use the file, test it, or are used by it."""
    ways: dict[str, list[str]] = {}
    for one in evidence:
        if one["kind"] == "dependency":
            outgoing = one["sourcePath"] == path
            if one["relation"] == "tests":
                way = "tests {}" if outgoing else "is tested by {}"
            else:
                way = "uses {}" if outgoing else "is used by {}"
            other = str(one["targetPath"] if outgoing else one["sourcePath"])
            ways.setdefault(way, []).append(other.rpartition("/")[2])
    return [way.format(_named(names)) for way, names in sorted(ways.items())]


def _cut(subject: str) -> str:
    return subject if len(subject) <= _LONGEST_SUBJECT else subject[: _LONGEST_SUBJECT - 1] + "…"


def _named(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = len(shown) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _term(one: Mapping[str, Any]) -> str:
    """A term of lexical evidence; what was translated, and what is only near, names both."""
    if one["origin"] == TRANSLATION:
        return f"{one['word']} ({one['source']})"
    if one["origin"] == SYNONYM:
        return f"{one['source']} ({', '.join(one['found'])})"
    if one["origin"] == IDENTIFIER and one["found"]:
        return str(one["found"][0])
    return str(one["source"])


def _path_word(one: Mapping[str, Any]) -> str:
    found, source = str(one["found"]), str(one["source"])
    return found if found == source.lower() else f"{found} ({source})"
