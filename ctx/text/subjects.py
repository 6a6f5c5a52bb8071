"""Converting a commit message to a query: its subject, and its body, as a user might type them."""

from __future__ import annotations

import re

LONGEST_SUBJECT = 160
LONGEST_QUESTION = 600
"""Characters of subject and body together; later text describes how, not what."""
_FEWEST_WORDS = 3

_PREFIX = re.compile(
    r"^\s*(?:\[[^\]]{1,30}\]\s*|[a-z]+(?:\([^)]*\))?!?:\s+|#?\d+\s*[:-]\s*|[A-Z]{2,}-\d+\s*:?\s*)+"
)
_REFERENCE = re.compile(
    r"\(?(?:\b(?:fix(?:es|ed)?|clos(?:es|ed?)|resolv(?:es|ed?)|refs?|see|gh|issue|pr|pull request)\b"
    r"|(?<![\s:-]))[\s:-]*#\d+\)?|\(gh-\d+\)|https?://\S+",
    re.I,
)
_DULL = re.compile(
    r"^(merge|revert|release|version|v?\d+\.\d|bump|prepare|upgrade|wip\b|typos?\b|lint|format|reformat"
    r"|update (dep|to|version|copyright|changelog|readme|docs?\b|lock)|fix (typo|lint|format|build|ci|test)"
    r"|rubocop|prettier|whitespace"
    r"|back to|start (new )?dev|initial commit|changelog|clean ?up$|auto-?generated?|cve|up$|pin )"
    r"|\b(typos?|changelogs?|copyright|dependabot|renovate|dependenc(y|ies)|clippy|eslint|phpcs|phpstan|pre-commit"
    r"|github actions?|whitespace|version bump|release notes|spelling|grammar mistakes?|license header)\b",
    re.I,
)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]+")
_LETTERS = re.compile(r"[^\W\d_]")
_TRAILER = re.compile(r"^[A-Za-z][A-Za-z-]+(-by|-from)?: \S.*$|^\(cherry picked from commit .*\)$|^-{3,}$")


def query_of(subject: str) -> str | None:
    """Return a commit subject as a query, None if it does not describe the code."""
    if _DULL.search(subject):
        return None
    text = _REFERENCE.sub(" ", subject)
    text = " ".join(_PREFIX.sub("", text).split()).strip(" .,;:-")
    if _DULL.search(text) or len(text) > LONGEST_SUBJECT or not _is_long_enough(text):
        return None
    return text


def question_of(subject: str, body: str) -> str | None:
    """Return subject and body without trailers and references; None if either is empty."""
    query = query_of(subject)
    kept = []
    for line in body.splitlines():
        if _TRAILER.match(line.strip()):
            continue
        kept.append(_REFERENCE.sub(" ", line))
    text = " ".join(" ".join(kept).split())
    if query is None or not _is_long_enough(text):
        return None
    return f"{query}. {text}"[:LONGEST_QUESTION]


def _is_long_enough(text: str) -> bool:
    """Return True if a text has three words; a script without spaces between words counts by letters."""
    if len(_WORD.findall(text)) >= _FEWEST_WORDS:
        return True
    return len([letter for letter in _LETTERS.findall(text) if not letter.isascii()]) >= 2 * _FEWEST_WORDS
