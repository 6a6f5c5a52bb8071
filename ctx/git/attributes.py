"""One `.gitattributes` file of a tree, parsed by the rules of gitattributes(5).

git itself reads attributes from the work tree, from `info/attributes` and from the user's own file; git-ctx
needs only those of a tree, for many directories, so it reads the files itself. The tests compare this parser
with `git check-attr`. Only the attributes that the caller names are kept; macros are expanded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from ctx.git.quoting import unquoted
from ctx.git.rule_file import BYTE_ORDER_MARK, PathPattern, RuleFile, spelt

State = bool | bytes | None
"""True (`name`), False (`-name`), a value (`name=value`), or None for `!name`, which ends the search."""

States = tuple[tuple[bytes, State], ...]
Macros = Mapping[bytes, States]

_LONGEST_LINE = 2048
"""git ignores longer lines, see its CVE-2022-23521."""
_BLANK = b" \t\r\n"
_NAME = re.compile(rb"[A-Za-z0-9._][A-Za-z0-9._-]*")
_MACRO = b"[attr]"


def parse_attributes(data: bytes, wanted: Collection[bytes], macros: Macros) -> RuleFile[States]:
    """Return the rules of a file that affect a wanted attribute, directly or by a macro."""
    users: dict[bytes, list[bytes]] = {}
    for name, states in macros.items():
        for inner, _ in states:
            users.setdefault(inner, []).append(name)
    bearing: set[bytes] = set()
    open_ = list(wanted)
    while open_:  # macros may stand for macros
        name = open_.pop()
        if name not in bearing:
            bearing.add(name)
            open_ += users.get(name, [])
    rules: list[tuple[PathPattern, States]] = []
    for text, words in _lines(data):
        pattern = PathPattern.parse(text)
        # A negated pattern is forbidden, and one for directories matches no file.
        if _is_macro(text) or text.startswith(b"!") or pattern.directories_only:
            continue
        kept = tuple((name, state) for name, state in _states(words) if name in bearing)
        if kept:
            rules.append((pattern, kept))
    return RuleFile(rules, spell_states)


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
    open_ = list(states)
    while open_:
        name, state = open_.pop()
        if name not in found:
            found[name] = state
            if state is True:
                open_ += macros.get(name, ())


def spell_states(states: States) -> bytes:
    """Encode the states of a line for a digest."""
    signs: dict[State, bytes] = {True: b"+", False: b"-", None: b"!"}
    written = (
        spelt(name) + (b"=" + spelt(state) if isinstance(state, bytes) else signs[state])
        for name, state in states
    )
    return b"%d %s" % (len(states), b"".join(written))


def _is_macro(pattern: bytes) -> bool:
    return pattern.startswith(_MACRO) and len(pattern) > len(_MACRO)


def _lines(data: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield the unquoted pattern of each line that has one, and its attributes as words."""
    data = data.removeprefix(BYTE_ORDER_MARK).partition(b"\0")[0]
    for line in data.split(b"\n"):
        text = line.strip(_BLANK)
        if not text or text.startswith(b"#") or len(line) >= _LONGEST_LINE:
            continue
        quoted = unquoted(text) if text.startswith(b'"') else None
        if quoted is not None:
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
