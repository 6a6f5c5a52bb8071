"""Formatting counts with a noun in singular or plural."""

from __future__ import annotations


def pluralize(count: int, name: str) -> str:
    """Return a count with a noun: `1 file`, `2,000 files`."""
    return f"{count:,} {name}" + ("" if count == 1 else "s")


def pluralize_with(count: int, name: str, one: str, many: str) -> str:
    """Return a count with a noun and a verb: `1 file is`, `2 files are`."""
    return f"{pluralize(count, name)} {one if count == 1 else many}"
