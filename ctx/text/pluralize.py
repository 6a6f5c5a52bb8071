"""Numbers of things in words for people, one of them without a plural."""

from __future__ import annotations


def counted(count: int, name: str) -> str:
    """A number of things: `1 file`, `2,000 files`."""
    return f"{count:,} {name}" + ("" if count == 1 else "s")


def counted_and(count: int, name: str, one: str, many: str) -> str:
    """The same with what they do or are: `1 file is`, `2 files are`."""
    return f"{counted(count, name)} {one if count == 1 else many}"
