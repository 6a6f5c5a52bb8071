"""Evidence as text: a few short phrases about a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctx.ranking.explain import CORRECTION, KINDS, VERBATIM
from ctx.ranking.query_terms import LITERAL, STEM, SYNONYM
from ctx.text.query import IDENTIFIER, TRANSLATION

_MOST_NAMED = 4
_SHORT = 12
"""Number of hex digits of an abbreviated commit id."""
_LONGEST_SUBJECT = 80
_MIN_PART = 0.05
_BY_ORIGIN = {
    LITERAL: "has {}",
    IDENTIFIER: "has {} in names",
    STEM: "has forms of {}",
    TRANSLATION: "has {}",
    SYNONYM: "has words similar to {}",
}
_BY_GROUP = {
    "vectors": "is similar in meaning to the question",
    "references": "refers to other results, or is referred to by them",
    "folder": "is in the same directory as other results",
}


def reasons(
    path: bytes, evidence: Sequence[Mapping[str, Any]], parts: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the reasons for and against a file, most important first."""
    lines = []
    symbols = [str(one["symbol"]) for one in evidence if one["kind"] == "symbol"]
    if symbols:
        lines.append(f"defines {_named(symbols)}")
    for origin, form in _BY_ORIGIN.items():
        found = [one for one in evidence if one["kind"] == "lexical" and one["origin"] == origin]
        if found:
            lines.append(form.format(_named([_term(one) for one in found])))
    if parts.get(VERBATIM, 0.0) > _MIN_PART:
        lines.append("contains text of the question verbatim")
    paths = [one for one in evidence if one["kind"] == "path"]
    if paths:
        lines.append(f"its path has {_named([_path_word(one) for one in paths])}")
    lines += [text for group, text in _BY_GROUP.items() if parts.get(group, 0.0) > _MIN_PART]
    lines += _connections(path.decode("utf-8", "replace"), evidence)
    if parts.get(CORRECTION, 0.0) > _MIN_PART:
        lines.append("its commit history fits the question")
    changed = [one for one in evidence if one["kind"] == "history" and "commit" in one]
    lines += [
        f"was changed by {one['commit'][:_SHORT]} {_truncated(one['subject'])}".rstrip() for one in changed
    ]
    kinds = set(KINDS.values())
    lines += [f"ranked lower as {name}" for name, value in parts.items() if value < 0 and name in kinds]
    return tuple(lines)


def _connections(path: str, evidence: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return phrases for the results that use or test the file, or that it uses or tests."""
    forms: dict[str, list[str]] = {}
    for one in evidence:
        if one["kind"] == "dependency":
            outgoing = one["sourcePath"] == path
            if one["relation"] == "tests":
                form = "tests {}" if outgoing else "is tested by {}"
            else:
                form = "uses {}" if outgoing else "is used by {}"
            other = str(one["targetPath"] if outgoing else one["sourcePath"])
            forms.setdefault(form, []).append(other.rpartition("/")[2])
    return [form.format(_named(names)) for form, names in sorted(forms.items())]


def _truncated(subject: str) -> str:
    return subject if len(subject) <= _LONGEST_SUBJECT else subject[: _LONGEST_SUBJECT - 1] + "…"


def _named(names: Sequence[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = len(shown) - _MOST_NAMED
    return ", ".join(shown[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _term(one: Mapping[str, Any]) -> str:
    """Return the display form of a lexical term; translations and synonyms show both words."""
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
