"""Files of path patterns in a tree: `.gitattributes` (gitattributes(5)) and ignore files (gitignore(5)).

Patterns without a slash match the last component, others the whole path below the directory of the file; a
later line takes precedence over an earlier one. git itself reads such files from the work tree and elsewhere;
git-ctx needs only those of a tree, for many directories, so it parses them itself. The tests compare it with
`git check-attr` and `git check-ignore`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Generic, NamedTuple, TypeVar

from ctx.git.quoting import unquoted
from ctx.git.wildmatch import Matcher, compile_pattern, literal_length

Meaning = TypeVar("Meaning")

State = bool | bytes | None
"""True (`name`), False (`-name`), a value (`name=value`), or None for `!name`, which ends the search."""

States = tuple[tuple[bytes, State], ...]
Macros = Mapping[bytes, States]

LARGEST = 1 << 20
"""Bytes; a longer rule file is ignored, as git ignores very large ones."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_LINE = 2048
"""git ignores longer lines of attributes, see its CVE-2022-23521."""
_BLANK = b" \t\r\n"
_NAME = re.compile(rb"[A-Za-z0-9._][A-Za-z0-9._-]*")
_MACRO = b"[attr]"


class PathPattern(NamedTuple):
    """A pattern without its leading and trailing slash."""

    text: bytes
    any_directory: bool
    directories_only: bool

    @classmethod
    def parse(cls, text: bytes) -> PathPattern:
        """Parse a pattern of a file (without `!`)."""
        inner = text.removesuffix(b"/")
        return cls(inner.removeprefix(b"/"), b"/" not in inner, inner != text)


class RuleFile(Generic[Meaning]):
    """Patterns and their meanings, matched against paths relative to the directory of the file.

    `encode` encodes a meaning for the digest.
    """

    def __init__(
        self, rules: Sequence[tuple[PathPattern, Meaning]], encode: Callable[[Meaning], bytes]
    ) -> None:
        self.rules = rules
        self._encode = encode
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
            found = self._below[name] = self if len(kept) == len(self.rules) else RuleFile(kept, self._encode)
        return found

    @cached_property
    def digest(self) -> bytes:
        """Hash of the rules, ignoring comments and blank lines (docs/format.md, "Path rules")."""
        digest = blake2b(digest_size=8)
        for pattern, meaning in self.rules:
            marks = pattern.any_directory + 2 * pattern.directories_only
            digest.update(b"%s%d%s" % (length_prefixed(pattern.text), marks, self._encode(meaning)))
        return digest.digest()

    @cached_property
    def looks_at_directories(self) -> bool:
        """Return True if a pattern depends on the directory of a file, not only on its name."""
        return any(not pattern.any_directory for pattern, _ in self.rules)

    @cached_property
    def _firsts(self) -> set[bytes]:
        return {first for pattern, _ in self.rules if (first := _first(pattern))}


def length_prefixed(text: bytes) -> bytes:
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


def parse_ignores(data: bytes) -> RuleFile[bool]:
    """Return the patterns of a file; True means ignored, False means excluded by `!`."""
    rules: list[tuple[PathPattern, bool]] = []
    for line in data.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        text = _without_trailing_spaces(line.removesuffix(b"\r"))
        if text and not text.startswith(b"#"):
            rules.append((PathPattern.parse(text.removeprefix(b"!")), not text.startswith(b"!")))
    return RuleFile(rules, lambda ignored: b"+" if ignored else b"-")


def _without_trailing_spaces(line: bytes) -> bytes:
    """Strip trailing spaces as git does: not after a backslash, and no other white space."""
    stripped = line.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return line[: len(stripped) + 1] if backslashes % 2 else stripped


def parse_attributes(data: bytes, names: Collection[bytes], macros: Macros) -> RuleFile[States]:
    """Return the rules of a file that affect one of the named attributes, directly or by a macro."""
    users: dict[bytes, list[bytes]] = {}
    for name, states in macros.items():
        for inner, _ in states:
            users.setdefault(inner, []).append(name)
    relevant: set[bytes] = set()
    pending = list(names)
    while pending:  # macros may stand for macros
        name = pending.pop()
        if name not in relevant:
            relevant.add(name)
            pending += users.get(name, [])
    rules: list[tuple[PathPattern, States]] = []
    for text, words in _lines(data):
        pattern = PathPattern.parse(text)
        # A negated pattern is forbidden, and one for directories matches no file.
        if _is_macro(text) or text.startswith(b"!") or pattern.directories_only:
            continue
        kept = tuple((name, state) for name, state in _states(words) if name in relevant)
        if kept:
            rules.append((pattern, kept))
    return RuleFile(rules, encode_states)


def parse_macros(data: bytes) -> dict[bytes, States]:
    """Return the macros defined by a file at the root; git allows none in subdirectories."""
    macros: dict[bytes, States] = {}
    for pattern, words in _lines(data):
        if _is_macro(pattern):
            name = _words(pattern[len(_MACRO) :])[0]
            if _NAME.fullmatch(name):
                macros[name] = _states(words)
    return macros


def fill(states: States, found: dict[bytes, State], macros: Macros) -> None:
    """Add the states of one matching line for attributes that `found` does not have yet.

    Files are visited from the deepest to the root, the lines of a file from the last to the first. git goes
    from the last state of a line to the first and expands a macro as soon as it has set it.
    """
    pending = list(states)
    while pending:
        name, state = pending.pop()
        if name not in found:
            found[name] = state
            if state is True:
                pending += macros.get(name, ())


def encode_states(states: States) -> bytes:
    """Encode the states of a line for a digest."""
    signs: dict[State, bytes] = {True: b"+", False: b"-", None: b"!"}
    written = (
        length_prefixed(name) + (b"=" + length_prefixed(state) if isinstance(state, bytes) else signs[state])
        for name, state in states
    )
    return b"%d %s" % (len(states), b"".join(written))


def _is_macro(pattern: bytes) -> bool:
    return pattern.startswith(_MACRO) and len(pattern) > len(_MACRO)


def _lines(data: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield the unquoted pattern of each line that has one, and its attributes as words."""
    data = data.removeprefix(_BYTE_ORDER_MARK).partition(b"\0")[0]
    for line in data.split(b"\n"):
        text = line.strip(_BLANK)
        if not text or text.startswith(b"#") or len(line) >= _LONGEST_LINE:
            continue
        if quoted := unquoted(text):
            yield quoted[0], [word for word in _words(quoted[1]) if word]
        else:
            pattern, *words = _words(text)
            yield pattern, words


def _words(text: bytes) -> list[bytes]:
    return re.split(rb"[ \t\r\n]+", text)


def _states(words: list[bytes]) -> States:
    """Return the states of a line's words; empty if one is not a legal attribute, which voids the line."""
    states: list[tuple[bytes, State]] = []
    for word in words:
        name, equals, value = word.partition(b"=")
        sign = name[:1] if name[:1] in (b"-", b"!") else b""
        name = name[len(sign) :]
        if not _NAME.fullmatch(name) or name.startswith(b"builtin_"):
            return ()
        states.append((name, False if sign == b"-" else None if sign == b"!" else value if equals else True))
    return tuple(states)
