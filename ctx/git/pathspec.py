"""Path filters in git's pathspec syntax (gitglossary(7)), evaluated without git.

The tests compare them with `git diff`. Files on disk are not considered: a filter matches the names of a
tree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctx.errors import UsageError
from ctx.git.wildmatch import compile_pattern, literal_length

_SHORT = {"/": "top", "!": "exclude", "^": "exclude"}
_LONG = frozenset(("top", "literal", "icase", "glob", "exclude", ""))
_NOT_MAGIC = re.compile(r"[A-Za-z0-9*?\[\\.()|+^$\s\x80-\U0010ffff{}]")
"""A character that ends the short form `:!…`, and belongs to the pattern."""


class PathFilter:
    """A compiled list of pathspecs: call it with a path from the root, or `select` from many."""

    __slots__ = ("_excluded", "_included")

    def __init__(
        self, included: Sequence[Callable[[bytes], bool]], excluded: Sequence[Callable[[bytes], bool]]
    ) -> None:
        self._included = included
        self._excluded = excluded

    def __call__(self, path: bytes) -> bool:
        if self._included and not any(matches(path) for matches in self._included):
            return False
        return not any(matches(path) for matches in self._excluded)

    def select(self, paths: Sequence[bytes]) -> list[int]:
        """Return the indices in `paths` of those that match the filter."""
        if len(self._included) == 1 and not self._excluded:
            matches = self._included[0]
            return [place for place, path in enumerate(paths) if matches(path)]
        return [place for place, path in enumerate(paths) if self(path)]


class _Spec(NamedTuple):
    """One pathspec: `path` from the root, of which the first `fixed` bytes are the current directory."""

    path: bytes
    fixed: int
    magic: frozenset[str]


def compile_pathspecs(specs: Sequence[str], prefix: bytes = b"", work_tree: str | None = None) -> PathFilter:
    """Return a filter for paths that match any of the pathspecs and none of the excluding ones.

    `prefix` is the current directory as a path from the root, empty or ending in a slash; `work_tree` is the
    root on disk, for absolute paths. Without a pathspec, or with only excluding ones, everything else
    matches. Raises UsageError for what git would refuse, and for `:(attr:…)`.
    """
    included: list[Callable[[bytes], bool]] = []
    excluded: list[Callable[[bytes], bool]] = []
    for text in specs:
        spec = _parse(text, prefix, work_tree)
        (excluded if "exclude" in spec.magic else included).append(_matcher(spec))
    return PathFilter(included, excluded)


def _parse(text: str, prefix: bytes, work_tree: str | None) -> _Spec:
    if not text:
        raise UsageError("an empty path filter matches nothing; use '.' for the current directory")
    magic, rest = _magic(text)
    if {"literal", "glob"} <= magic:
        raise UsageError(f"'{text}': 'literal' and 'glob' are incompatible")
    if "top" in magic:
        return _Spec(os.fsencode(rest), 0, magic)  # git takes it literally, including `./`
    path, fixed = _from_root(os.fsencode(rest), prefix, work_tree, text)
    return _Spec(path, fixed, magic)


def _magic(text: str) -> tuple[frozenset[str], str]:
    """Return the magic words of a pathspec, and what follows them."""
    default = {
        word
        for word in ("literal", "glob", "icase")
        if os.environ.get(f"GIT_{word.upper()}_PATHSPECS", "").lower() in ("1", "true", "yes", "on")
    }
    if "literal" in default or not text.startswith(":"):
        return frozenset(default), text
    if text.startswith(":("):
        inner, closed, rest = text[2:].partition(")")
        if not closed:
            raise UsageError(f"'{text}': the ')' that ends the pathspec magic is missing")
        words = inner.split(",")
        for word in words:
            if word.startswith("attr:"):
                raise UsageError(f"'{text}': filters by attribute are not supported; name paths instead")
            if word not in _LONG:
                raise UsageError(
                    f"'{text}': '{word}' is not pathspec magic; see `git help glossary`, pathspec"
                )
        found = set(words) - {""}
    else:
        found, at = set(), 1
        while at < len(text) and text[at] != ":":
            if text[at] not in _SHORT:
                if _NOT_MAGIC.match(text[at]):
                    break
                raise UsageError(
                    f"'{text}': '{text[at]}' is not pathspec magic; write ':(top)' or './{text}'"
                )
            found.add(_SHORT[text[at]])
            at += 1
        rest = text[at + 1 :] if text[at : at + 1] == ":" else text[at:]
    if "literal" in found:
        default.discard("glob")
    return frozenset(found | default), rest


def _from_root(path: bytes, base: bytes, work_tree: str | None, text: str) -> tuple[bytes, int]:
    """Return a path relative to the root, and the length of the current directory in it."""
    if path.startswith(b"/"):
        path, base = _inside(path, work_tree, text), b""
    parts = [part for part in base.split(b"/") if part]
    own = len(parts)
    ends_open = False  # True if only a directory matches: `dir/`, `.`, `..`
    for part in path.split(b"/"):
        ends_open = part in (b"", b".", b"..")
        if part == b"..":
            if not parts:
                raise UsageError(f"'{text}' is outside the repository")
            parts.pop()
            own = min(own, len(parts))
        elif part not in (b"", b"."):
            parts.append(part)
    fixed = sum(len(part) + 1 for part in parts[:own])
    return b"/".join(parts) + (b"/" if parts and ends_open else b""), fixed


def _inside(path: bytes, work_tree: str | None, text: str) -> bytes:
    """Return the part of an absolute path below the root of the work tree."""
    if work_tree is not None:
        root = os.path.realpath(os.fsencode(work_tree))
        directory, name = os.path.split(path)
        for candidate in (os.path.normpath(path), os.path.join(os.path.realpath(directory), name)):
            if candidate == root or candidate.startswith(root.rstrip(b"/") + b"/"):
                return candidate[len(root) :].lstrip(b"/") + (b"/" if path.endswith(b"/") else b"")
    raise UsageError(f"'{text}' is outside the repository")


def _matcher(spec: _Spec) -> Callable[[bytes], bool]:
    """Return a matcher of the path itself, everything below it, and everything its wildcards match."""
    path, ignore_case = spec.path, "icase" in spec.magic
    if not path:
        return lambda name: True
    literal = len(path) if "literal" in spec.magic else max(literal_length(path), spec.fixed)
    below = path if path.endswith(b"/") else path + b"/"
    if not ignore_case:
        if literal == len(path):
            return lambda name: name == path or name.startswith(below)
        start, wild = path[:literal], path[literal:]
        match = compile_pattern(wild, slash_is_special="glob" in spec.magic)
        return lambda name: (
            (name.startswith(start) and match(name[literal:])) or name.startswith(below) or name == path
        )
    # The current directory is compared exactly; only the typed part may ignore case.
    fixed, typed, typed_below = path[: spec.fixed], path[spec.fixed :].lower(), below[spec.fixed :].lower()
    at = literal - spec.fixed
    pattern = compile_pattern(path[literal:], slash_is_special="glob" in spec.magic, ignore_case=True)
    has_wildcards = literal < len(path)

    def matches(name: bytes) -> bool:
        if not name.startswith(fixed):
            return False
        rest = name[spec.fixed :].lower()
        if rest == typed or rest.startswith(typed_below):
            return True
        return has_wildcards and rest.startswith(typed[:at]) and pattern(name[literal:])

    return matches
