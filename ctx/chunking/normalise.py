"""The text of a chunk as a model is to read it: without what carries no meaning."""

from __future__ import annotations

import re
from itertools import filterfalse

_NOISE = re.compile(
    r"@(?:field:|param:|get:|set:)?(?:(?:Override|NotNull|Nullable|NonNull|Nonnull)\b(?![.(])"
    r"|Suppress(?:Warnings|Lint)?\([^()\n]*\))[ \t]*"
)
_NOISE_BYTES = re.compile(_NOISE.pattern.encode())
_NOISY = frozenset({"java", "kotlin"})


def embedded_text(text: str, language: str | None) -> str:
    """Trim the ends, drop blank lines and the indentation that all lines share, keep what lines are
    indented more.

    In Java and Kotlin annotations that say nothing about a declaration's sense (`@Override`,
    `@Nullable`, …) go too.
    """
    if language in _NOISY and "@" in text:
        text = _NOISE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = list(filterfalse(str.isspace, filter(None, text.split("\n"))))
    if not lines:
        return ""
    joined = "\n" + "\n".join(lines)
    first = lines[0]
    shared = "\n" + first[: len(first) - len(first.lstrip(" \t"))]
    while len(shared) > 1 and joined.count(shared) < len(lines):
        shared = shared[:-1]
    if len(shared) > 1:
        joined = joined.replace(shared, "\n")
    return joined.strip()


def without_noise(source: bytes, language: str | None) -> bytes:
    """A file with the same annotations blanked, every other byte where it was: what words are counted in."""
    if language in _NOISY and b"@" in source:
        return _NOISE_BYTES.sub(lambda found: b" " * len(found[0]), source)
    return source
