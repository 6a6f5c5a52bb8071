"""Detecting pasted queries: a program's message, a trace, a log line, a piece of code."""

from __future__ import annotations

import re

from ctx.text.query import tokens

LEAST = 4
"""Shortest run of tokens that counts as a match; shorter runs match by chance."""
_MOST_LINES = 16
_MOST_TOKENS = 64
_MESSAGE = re.compile(
    r"\b\w*(error|exception|warning|panic|fatal|failed|failure)\b"
    r"|\b(could|can|does|do|is|was|has|must|should|will|may)(n't| not)\b|\bcannot\b"
    r"|\b(unable to|invalid|must (be|have)|not (found|allowed|supported|a|an|be|in)|no such|unexpected"
    r"|expected|missing|already|required|outside of|denied|refused|exceeded|timed out)\b",
    re.I,
)
"""Words of error messages and problem reports."""
_CODE = re.compile(r"""["'`(){}\[\];=\n]""")
_LABEL = re.compile(
    r"(?:[\w.:\\]*(?:error|exception|warning|panic|failure)\w*|fatal|caused by)(?:\[\w+\])?:\s+", re.I
)
"""Prefix of a message: its kind, which the code may name elsewhere or not at all."""
_FRAME = re.compile(r'File ".*", line \d|at .*[:(]\d*|Traceback \(|goroutine \d|\S+\.go:\d+|\.\.\. \d+ more')
"""A line of a trace that gives a location, not a message."""
_PYTHON_FRAME = re.compile(r'\s*File ".*", line \d')
_MOST_READ = 1 << 16
"""Number of characters of a trace that are searched for its message."""


def without_frames(text: str) -> str:
    """Remove the location lines of a trace, and the source line below each in Python's traces.

    Other text is returned unchanged.
    """
    if "\n" not in text:
        return text
    kept, below = [], False
    for line in text[:_MOST_READ].split("\n"):
        if not (below and line[:1].isspace()) and not _FRAME.match(line.strip()):
            kept.append(line)
        below = bool(_PYTHON_FRAME.match(line))
    return "\n".join(kept) if any(line.strip() for line in kept) else text


def pasted(text: str) -> list[list[str]]:
    """Return the tokens of each line of a query that looks like a message or like code, in lower case."""
    if not (_MESSAGE.search(text) or _CODE.search(text)):
        return []
    lines = []
    for line in text[:_MOST_READ].split("\n")[:_MOST_LINES]:
        message = line.strip()
        start = 0
        while label := _LABEL.match(message, start):
            start = label.end()
        message = message[start:]
        found = [token.lower() for token in tokens(message)[:_MOST_TOKENS]]
        if len(found) >= LEAST:
            lines.append(found)
    return lines
