"""Files of path patterns, each with a meaning: `.gitattributes` and ignore files.

Common rules: patterns without a slash match the last component, others the whole path below the file's
directory, and a later line takes precedence over an earlier one (gitignore(5), gitattributes(5)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

from ctx.git.wildmatch import Matcher, compile_pattern, literal_length

Meaning = TypeVar("Meaning")

LARGEST = 1 << 20
"""Bytes; a longer rule file is ignored, as git ignores very large ones."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class PathPattern(NamedTuple):
    """A pattern without its leading and trailing slash."""

    text: bytes
    any_directory: bool
    directories_only: bool

    @classmethod
    def parse(cls, text: bytes) -> PathPattern:
        """Parse a pattern of a file (without `!`)."""
        directories_only = text.endswith(b"/")
        if directories_only:
            text = text[:-1]
        return cls(text.removeprefix(b"/"), b"/" not in text, directories_only)


class RuleFile(Generic[Meaning]):
    """Patterns and their meanings, matched against paths relative to the directory of the file.

    `spell` encodes a meaning for the digest.
    """

    def __init__(
        self, rules: Sequence[tuple[PathPattern, Meaning]], spell: Callable[[Meaning], bytes]
    ) -> None:
        self.rules = rules
        self._spell = spell
        self._exact: dict[tuple[bytes, bool], list[int]] = {}
        self._general: list[tuple[int, bool, Matcher]] = []
        self._below: dict[bytes, RuleFile[Meaning]] = {}
        for number, (pattern, _) in enumerate(rules):
            if _is_literal(pattern.text):
                self._exact.setdefault((pattern.text, pattern.any_directory), []).append(number)
            else:
                matcher = compile_pattern(pattern.text, slash_is_special=not pattern.any_directory)
                self._general.append((number, pattern.any_directory, matcher))

    def __bool__(self) -> bool:
        return bool(self.rules)

    def matching(self, path: bytes, is_directory: bool = False) -> Iterator[Meaning]:
        """Yield the meanings of the patterns that match, those of later lines first."""
        name = path[path.rfind(b"/") + 1 :]
        hits = self._exact.get((name, True), []) + self._exact.get((path, False), [])
        hits += [number for number, anywhere, match in self._general if match(name if anywhere else path)]
        for number in sorted(hits, reverse=True):
            pattern, meaning = self.rules[number]
            if is_directory or not pattern.directories_only:
                yield meaning

    def below(self, name: bytes) -> RuleFile[Meaning]:
        """Return the rules that can apply inside one subdirectory of the file's own; paths stay unchanged."""
        if name not in self._firsts:
            name = b""  # all directories that no pattern names have the same rules
        found = self._below.get(name)
        if found is None:
            kept = [rule for rule in self.rules if _first(rule[0]) in (None, name)]
            found = self._below[name] = self if len(kept) == len(self.rules) else RuleFile(kept, self._spell)
        return found

    @cached_property
    def digest(self) -> bytes:
        """Hash of the rules, ignoring comments and blank lines (docs/format.md, "Path rules")."""
        digest = blake2b(digest_size=8)
        for pattern, meaning in self.rules:
            marks = pattern.any_directory + 2 * pattern.directories_only
            digest.update(b"%s%d%s" % (spelt(pattern.text), marks, self._spell(meaning)))
        return digest.digest()

    @cached_property
    def looks_at_directories(self) -> bool:
        """Return True if a pattern depends on the directory of a file, not only on its name."""
        return any(not pattern.any_directory for pattern, _ in self.rules)

    @cached_property
    def _firsts(self) -> set[bytes]:
        return {first for pattern, _ in self.rules if (first := _first(pattern))}


def spelt(text: bytes) -> bytes:
    """Encode bytes with a length prefix, so that the encoding is unambiguous."""
    return b"%d %s" % (len(text), text)


def _is_literal(text: bytes) -> bool:
    return literal_length(text) == len(text)


def _first(pattern: PathPattern) -> bytes | None:
    """Return the subdirectory below which a pattern can match; None for any, empty for none."""
    if pattern.any_directory:
        return None
    first, slash, _ = pattern.text.partition(b"/")
    if not _is_literal(first):
        return None
    return first if slash else b""
