"""The text of a chunk as a model is to read it: without what carries no meaning."""

from __future__ import annotations

import re

_NOISE = re.compile(
    r"@(?:field:|param:|get:|set:)?(?:(?:Override|NotNull|Nullable|NonNull|Nonnull)\b(?![.(])"
    r"|Suppress(?:Warnings|Lint)?\([^()\n]*\))[ \t]*"
)
_NOISY = frozenset({"java", "kotlin"})


def embedded_text(text: str, language: str | None) -> str:
    """Trim the ends, drop blank lines and the indentation that all lines share, keep what lines are indented more.

    In Java and Kotlin annotations that say nothing about a declaration's sense (`@Override`, `@Nullable`, …) go too.
    """
    if language in _NOISY and "@" in text:
        text = _NOISE.sub("", text)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in text.split("\n") if line and not line.isspace()]
    if not lines:
        return ""
    low, high = min(lines), max(lines)
    shared = 0
    for one, other in zip(low, high, strict=False):
        if one != other or one not in " \t":
            break
        shared += 1
    if shared:
        lines = [line[shared:] for line in lines]
    return "\n".join(lines).strip()
