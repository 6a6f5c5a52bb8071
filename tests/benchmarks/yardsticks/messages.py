"""Look up error messages, answered by the code that prints them.

    python tests/benchmarks/yardsticks/messages.py CHECKOUTS OUT [--semble PYTHON --model MODEL] [NAME …]

The messages are string literals that sources raise, throw, log or print as errors, once in a project. Each
query is the message as a user would paste it: with its placeholders filled in, sometimes after the name of an
error.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from lookups import Asked, is_source, run

EACH = 25
"""Messages of each project."""
SUFFIXES = frozenset(".py .js .ts .tsx .go .rs .java .kt .php .cs .rb .c".split())
_RAISED = re.compile(
    r"(?:raise\s+\w*(?:Error|Exception|Warning)?\(|throw\s+new\s+\w+\(|errors\.New\(|fmt\.Errorf\(|panic!?\("
    r"|bail!\(|error\(|Error\(|logger\.\w+\(|log\.\w+\()\s*[fr$]?([\"'`])((?:(?!\1)[^\\\n]|\\.){18,160})\1"
)
_PLACE = re.compile(r"\$?\{[^}]*\}|%[sdvqrx+]+|\\.|`")
_WORD = re.compile(r"[a-z]{3,}")
_LEAST_WORDS = 4
_LABELS = ("Error: ", "TypeError: ", "RuntimeError: ", "", "")
_FILLED_IN = " foo "


class Message(NamedTuple):
    text: str
    path: str
    line: int


def messages(folder: Path) -> list[Message]:
    """The messages that occur once in the sources of a folder, without tests, examples and vendored files."""
    found: dict[str, set[Message]] = defaultdict(set)
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        if file.suffix not in SUFFIXES or not file.is_file() or not is_source(path):
            continue
        source = file.read_text("utf-8", "replace")
        for match in _RAISED.finditer(source):
            text = _PLACE.sub(_FILLED_IN, match[2])
            if len(_WORD.findall(text)) >= _LEAST_WORDS:
                line = source.count("\n", 0, match.end()) + 1
                found[text].add(Message(text, path, line))
    return [next(iter(places)) for text, places in sorted(found.items()) if len(places) == 1]


def ask(folder: Path, chance: random.Random) -> list[Asked]:
    """Some messages, each as it would be pasted."""
    found = messages(folder)
    return [
        Asked("message", " ".join((chance.choice(_LABELS) + text).split()), path, line)
        for text, path, line in chance.sample(found, min(EACH, len(found)))
    ]


if __name__ == "__main__":
    sys.exit(run("messages", ask))
