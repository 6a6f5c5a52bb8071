"""What a commit message asks for: its subject, and its body, as somebody might have typed them."""

from __future__ import annotations

import re

LONGEST_SUBJECT = 160
LONGEST_QUESTION = 600
"""Characters of subject and body together; what comes later tells how, not what."""
_FEWEST_WORDS = 3

_PREFIX = re.compile(
    r"^\s*(?:\[[^\]]{1,30}\]\s*|[a-z]+(?:\([^)]*\))?!?:\s+|#?\d+\s*[:-]\s*|[A-Z]{2,}-\d+\s*:?\s*)+"
)
_REFERENCE = re.compile(
    r"\(?(?:\b(?:fix(?:es|ed)?|clos(?:es|ed?)|resolv(?:es|ed?)|refs?|see|gh|issue|pr|pull request)\b)?"
    r"[\s:-]*#\d+\)?|\(gh-\d+\)|https?://\S+",
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


def words_in(text: str) -> list[str]:
    """The words of a message that are written in ASCII, of two letters at least."""
    return _WORD.findall(text)


def query_of(subject: str) -> str | None:
    """A commit subject as somebody might type it, None where it says nothing about the code."""
    if _DULL.search(subject):
        return None
    text = _REFERENCE.sub(" ", subject)
    text = " ".join(_PREFIX.sub("", text).split()).strip(" .,;:-")
    if _DULL.search(text) or len(text) > LONGEST_SUBJECT or not _says_enough(text):
        return None
    return text


def question_of(subject: str, body: str) -> str | None:
    """The subject with the body after it, without trailers and references; None where either is empty."""
    query = query_of(subject)
    kept = []
    for line in body.splitlines():
        if _TRAILER.match(line.strip()):
            continue
        kept.append(_REFERENCE.sub(" ", line))
    text = " ".join(" ".join(kept).split())
    if query is None or not _says_enough(text):
        return None
    return f"{query}. {text}"[:LONGEST_QUESTION]


def _says_enough(text: str) -> bool:
    """Three words; a script without spaces between words counts by its letters."""
    if len(_WORD.findall(text)) >= _FEWEST_WORDS:
        return True
    return len([letter for letter in _LETTERS.findall(text) if not letter.isascii()]) >= 2 * _FEWEST_WORDS
