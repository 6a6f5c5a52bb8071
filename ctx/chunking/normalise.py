"""The text of a chunk for an embedding model: without what carries no meaning."""

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
    """Trim the ends, drop blank lines and common indentation, and keep relative indentation.

    In Java and Kotlin, annotations without meaning for the reader (`@Override`, `@Nullable`, …) are removed
    too.
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
    """Return a file with the same annotations blanked and all offsets unchanged, for counting terms."""
    if language in _NOISY and b"@" in source:
        return _NOISE_BYTES.sub(lambda found: b" " * len(found[0]), source)
    return source
