"""Comments in the text of a chunk: their offsets, and their sentences without comment signs."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_WORDS = 40
_FEWEST_WORDS = 3

_BLOCK = r"^[ \t]*/\*.*?\*/[ \t]*\n?"
_SLASHES = r"(?:^[ \t]*//[^\n]*\n?)+"
_HASHES = r"(?:^[ \t]*#(?![!\[])[^\n]*\n?)+"
_DASHES = r"(?:^[ \t]*--(?!\[\[)[^\n]*\n?)+"
_STYLES = {
    "slash": f"{_BLOCK}|{_SLASHES}",
    "both": f"{_BLOCK}|{_SLASHES}|{_HASHES}",
    "hash": _HASHES,
    "python": rf"^[ \t]*[rRuUbB]?(\"\"\"|''').*?\1[ \t]*\n?|{_HASHES}",
    "elixir": rf"^[ \t]*@(?:module|type)?doc[ \t]+(?:~[sS])?\"\"\".*?\"\"\"[ \t]*\n?|{_HASHES}",
    "lua": rf"^[ \t]*--\[\[.*?\]\][ \t]*\n?|{_DASHES}",
    "haskell": rf"^[ \t]*\{{-(?!#).*?-\}}[ \t]*\n?|{_DASHES}",
    "ruby": rf"^=begin\b.*?^=end[ \t]*\n?|{_HASHES}",
}
_STYLE_OF = {
    "python": "python", "elixir": "elixir", "lua": "lua", "luau": "lua", "haskell": "haskell", "ruby": "ruby",
    "bash": "hash", "php": "both", "perl": "hash", "r": "hash", "nix": "hash", "make": "hash", "sql": "lua",
}  # fmt: skip
_PATTERNS = {name: re.compile(pattern, re.MULTILINE | re.DOTALL) for name, pattern in _STYLES.items()}

_SIGNS = re.compile(
    r"^[ \t]*(?:/\*+!?|\*+/|\*(?!\*)|//+!?|#+|--+[|^\[]*|\{-[|^]?|@(?:module|type)?doc\b"
    r"|[rRuU]?\"\"\"|[rRuU]?'''|=begin)[ \t]?|(?:\*+/|-\}|\"\"\"|'''|\]\])[ \t]*$"
)
_STOP = re.compile(
    r"^\s*(?:[@\\](?!code\b|link\b|brief\b|summary\b)\w+|:\w+[^:]*:"
    r"|</?(?:param|returns?|exception|remarks|example|typeparam|value|pre|code)\b"
    r"|(?:args|arguments|parameters?|params|returns?|raises|throws|examples?|usage|yields|notes?|see also"
    r"|attributes|since|errors|panics|safety)\s*:?\s*$"
    r"|#+ |```|~~~|>>> |::$|---|===|\.\. )",
    re.IGNORECASE,
)
_INLINE = re.compile(r"\{@\w+\s+([^}]*)\}|</?[A-Za-z][^>\n]{0,80}>|\\[cp]\s|[@\\](?:brief|summary)\b")
_REFERENCE = re.compile(r":\w+:`~?([^`]*)`|\[([^\]]*)\]\([^)]*\)|https?://\S+")
_REJECT = re.compile(
    r"copyright|licen[sc]e|all rights reserved|eslint|prettier|noqa|pylint|type: ignore|nolint|clang-format"
    r"|rubocop|istanbul"
    r"|ts-ignore|phpcs|spdx|^todo\b|^fixme\b|^xxx\b|inherit-?doc|auto-?generated|region\b|^\s*(?:see|@)\b",
    re.IGNORECASE,
)
_CALL = re.compile(r"\w\([^)]*\)\s*;|;\s*$")
_CODE = re.compile(r"[{};=<>|\\]|\)\s*$|->|::")
_WORD = re.compile(r"[^\W\d_]{2,}")


class Comment(NamedTuple):
    """Half open offsets of a comment, and its text."""

    start: int
    end: int
    text: str


def find(text: str, language: str | None) -> list[Comment]:
    """The comments that have text, in order."""
    found = []
    for match in _PATTERNS[_STYLE_OF.get(language or "", "slash")].finditer(text):
        said = clean(match.group())
        if said is not None:
            found.append(Comment(match.start(), match.end(), said))
    return found


def clean(comment: str) -> str | None:
    """The first sentences of a comment, None if they are not prose about code."""
    lines: list[str] = []
    for line in comment.split("\n"):
        plain = _SIGNS.sub("", _SIGNS.sub("", line)).strip()
        if _STOP.match(plain):
            if lines:
                break
            continue
        if not plain:
            if lines:
                break  # The first paragraph is the summary.
            continue
        lines.append(plain)
    text = " ".join(lines)
    text = _REFERENCE.sub(lambda found: found.group(1) or found.group(2) or " ", text)
    text = _INLINE.sub(lambda found: found.group(1) or " ", text).replace("`", "")
    text = " ".join(text.split()[:MOST_WORDS]).lstrip("|^ ")
    if len(_WORD.findall(text)) < _FEWEST_WORDS or _REJECT.search(text) or _CALL.search(text):
        return None
    letters = sum(letter.isalpha() or letter == " " for letter in text)
    if letters < 0.8 * len(text) or len(_CODE.findall(text)) > 2:
        return None
    return text
