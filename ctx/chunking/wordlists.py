"""How the tables of names are written: as text, one word after the other."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())
