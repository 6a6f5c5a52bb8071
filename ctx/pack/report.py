"""Separation of a task into prose and code.

A bug report usually has a title, some sentences, and code that reproduces the fault, between the headings of
a form. Title and sentences describe the fault; the code names many unrelated things.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_FENCE = re.compile(r"\s{0,12}(?:[-*>]\s+)?(`{3,}|~{3,})")
_INDENTED = re.compile(r"(?: {4}|\t)")
_BOX = re.compile(r"\s*[-*+]\s+\[[ xX]?\]")
_HEADING = re.compile(r" {0,3}#{1,6}\s|\s*(?:\*\*[^*]+\*\*|__[^_]+__):?\s*\Z")
_UNDERLINE = re.compile(r"\s*[-=]{4,}\s*\Z")
_VERSION = re.compile(
    r"\s*[-*+]?\s*[*_]*[A-Za-z][\w .,/()-]{0,40}?[*_]*\s*[:=][\s*_`]*"
    r"(?:v?\d+(?:\.[\w-]+)+|windows|linux|mac ?os|osx|ubuntu)\b[^a-z]{0,40}\Z",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FORM = frozenset(
    "a about actual actually additional affected already and any are as attach be been before behavior "
    "behaviour below browser bug bugs by can code command context current currently debug describe "
    "description details did do does else encountered environment error example existing expect "
    "expectation expectations expected following for happen happened happening happens have how i if in "
    "information is issue issues it link list log logs message minimal name node notes observed of on "
    "operating or os output platform please possible prerequisites problem question relevant report "
    "reproduce reproducible reproducing reproduction result results run running runtime sample see "
    "seeing should solution stack step steps submitting summary system tasks terminal that the there "
    "this to tooling trace type use used using version versions was we were what where with workaround "
    "workarounds you your".split()
)
"""Words in the headings of report forms."""
_LONGEST_FORM = 120
_WORD = re.compile(r"[^\W\d_]+")
_LEAST_SAID = 4
"""With fewer words of prose than this, the code is searched for too."""


class Report(NamedTuple):
    """Parts of a task: its first line (`title`), the sentences after it (`said`), and its code (`shown`)."""

    title: str
    said: str
    shown: str

    @property
    def question(self) -> str:
        """Text to search for: the prose, and the code if there is little prose."""
        text = f"{self.title}\n{self.said}"
        few = len(_WORD.findall(text)) < _LEAST_SAID
        return f"{text}\n{self.shown}" if few else text


def read_report(task: str) -> Report:
    """Return the parts of a task. A single line is the title."""
    lines = _COMMENT.sub("", task).strip().splitlines() or [""]
    title = "" if _FENCE.match(lines[0]) else lines[0].strip().lstrip("#").strip()
    said: list[str] = []
    shown: list[str] = []
    fence = ""
    before = ""
    for line in lines[1:] if title else lines:
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            else:
                shown.append(line)
        elif mark is not None:
            fence = mark[1]
        elif _INDENTED.match(line) and (not before.strip() or _INDENTED.match(before)):
            shown.append(line)
        elif not _is_form(line):
            said.append(line)
        before = line
    return Report(title, "\n".join(said), "\n".join(shown))


def _is_form(line: str) -> bool:
    """Return True if a line belongs to a form: a check box, a heading of common words, a version."""
    if len(line) > _LONGEST_FORM:
        return False
    if _BOX.match(line) or _UNDERLINE.match(line) or _VERSION.match(line):
        return True
    words = _WORD.findall(line)
    return _HEADING.match(line) is not None and all(word.lower() in _FORM for word in words)
