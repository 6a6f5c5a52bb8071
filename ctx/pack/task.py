"""Reading of a task or an error log: prose and code, and the files, symbols and lines that they name.

A bug report usually has a title, some sentences, and code that reproduces the fault, between the headings of
a form. Title and sentences describe the fault; the code names many unrelated things.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctx.git.quoting import unquoted_argument
from ctx.pack.types import ERROR_LOG, EXAMPLE, TASK, Hint

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
_LEAST_PROSE = 4
"""With fewer words of prose than this, the code is searched for too."""

MOST = 200
"""Maximum hints of one text; the frames nearest to the fault are at either end of a trace."""
_MOST_SAME = 4
"""A path that matches more files than this is ambiguous and ignored."""

# All of these run in linear time: repetitions are bounded, or can start in one place only.
_RUN = re.compile(r"(?:(?<![A-Za-z0-9])[A-Za-z]:(?=[/\\]))?[\w@$+~.\-/\\]+")
_FILE = re.compile(r"[^/]*[\w@$+\-]\.[A-Za-z][A-Za-z0-9]{0,9}")
_EXTENSION = re.compile(rb"\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_LINE = re.compile(r"(?:\"?,? (?:on )?line (\d{1,8})|:line (\d{1,8})|[:(](\d{1,8})|#L(\d{1,8}))")
_LONGEST_RUN = 1_000
_IN_C_QUOTES = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"?')
"""A path as quoted by git."""
_FRAMES = (
    re.compile(r"\bline \d+, in ([A-Za-z_][\w.<>]*)"),  # Python
    re.compile(
        r"\bat (?:async |new )?([A-Za-z_$][\w$.<>/:]*)(?: \[as [\w$]+\])? ?\("
    ),  # JavaScript, Java, C#
    re.compile(r"^#\d+ [^\n]{0,400}?\b([A-Za-z_]\w{0,80}(?:->|::)\w{1,80})\(", re.MULTILINE),  # PHP
    re.compile(r"^\s*\d+:\s+(?:0x[0-9a-f]+ - )?([A-Za-z_<][\w:<>]{0,200}::\w+)", re.MULTILINE),  # Rust
    re.compile(r"^[\w./\-]{1,200}\.(?:\(\*?\w{1,80}\)\.)?(\w{1,120})\(.*\)$", re.MULTILINE),  # Go
)
_QUOTED = re.compile(r"`([^`\n]{2,80})`")
_QUALIFIED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*(?:\(\))?")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


class Report(NamedTuple):
    """Parts of a task: its first line (`title`), the sentences after it (`prose`), and its code (`code`)."""

    title: str
    prose: str
    code: str

    @property
    def question(self) -> str:
        """Text to search for: the prose, and the code if there is little prose."""
        text = f"{self.title}\n{self.prose}"
        few = len(_WORD.findall(text)) < _LEAST_PROSE
        return f"{text}\n{self.code}" if few else text


def read_report(task: str) -> Report:
    """Return the parts of a task. A single line is the title."""
    lines = _COMMENT.sub("", task).strip().splitlines() or [""]
    title = "" if _FENCE.match(lines[0]) else lines[0].strip().lstrip("#").strip()
    prose: list[str] = []
    code: list[str] = []
    fence = ""
    before = ""
    for line in lines[1:] if title else lines:
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
            else:
                code.append(line)
        elif mark is not None:
            fence = mark[1]
        elif _INDENTED.match(line) and (not before.strip() or _INDENTED.match(before)):
            code.append(line)
        elif not _is_form(line):
            prose.append(line)
        before = line
    return Report(title, "\n".join(prose), "\n".join(code))


def _is_form(line: str) -> bool:
    """Return True if a line belongs to a form: a check box, a heading of common words, a version."""
    if len(line) > _LONGEST_FORM:
        return False
    if _BOX.match(line) or _UNDERLINE.match(line) or _VERSION.match(line):
        return True
    words = _WORD.findall(line)
    return _HEADING.match(line) is not None and all(word.lower() in _FORM for word in words)


def read_task(text: str) -> list[Hint]:
    """Return the paths and symbols that a task names; those only in its code have the origin EXAMPLE."""
    report = read_report(text)
    prose = f"{report.title}\n{report.prose}"
    found = _paths(prose, TASK)
    found += [Hint(None, name, None, TASK) for name in _names_in(prose)]
    if report.code:
        found += _trace(report.code, TASK)
        names = _names_in(report.code)
        of_code = [*_paths(report.code, EXAMPLE), *(Hint(None, name, None, EXAMPLE) for name in names)]
        known = {(hint.path, hint.symbol) for hint in found}
        found += [hint for hint in of_code if (hint.path, hint.symbol) not in known]
    return list(dict.fromkeys(found))[:MOST]


def _names_in(text: str) -> list[str]:
    """Return the names in a text that look like code, or are marked as code."""
    named = [match.group() for match in _NAME.finditer(text) if _is_code(match, text)]
    named += [match[1] for match in _QUOTED.finditer(text) if _QUALIFIED.fullmatch(match[1])]
    return list(dict.fromkeys(name for name in map(_last_name, named) if name is not None))


def _trace(text: str, origin: str) -> list[Hint]:
    """Return the hints of a stack trace in a text; none without line numbers, as it may be plain code."""
    places = [hint for hint in _paths(text, origin) if hint.line is not None]
    if not places:
        return []
    return places + _functions(text, origin)


def _functions(text: str, origin: str) -> list[Hint]:
    """Return the functions that the frames of a stack trace name."""
    names = [_last_name(match[1]) for pattern in _FRAMES for match in pattern.finditer(text)]
    return [Hint(None, name, None, origin) for name in names if name is not None]


def read_log(text: str) -> list[Hint]:
    """Return the paths with lines, and the functions, that an error log names."""
    kept = list(dict.fromkeys([*_paths(text, ERROR_LOG), *_functions(text, ERROR_LOG)]))
    return kept if len(kept) <= MOST else kept[: MOST // 2] + kept[-MOST // 2 :]


def _paths(text: str, origin: str) -> list[Hint]:
    found = []
    for match in _RUN.finditer(text):
        path = match.group().replace("\\", "/").rstrip(".")
        if len(path) > _LONGEST_RUN or "." not in path or _FILE.fullmatch(path.rpartition("/")[2]) is None:
            continue
        after = _LINE.match(text, match.end())
        line = after and (after[1] or after[2] or after[3] or after[4])
        found.append(Hint(path, None, int(line) or None if line else None, origin))
    for match in _IN_C_QUOTES.finditer(text) if "\\" in text else ():
        name = unquoted_argument(match.group().encode("utf-8", "surrogateescape"))
        if "\\" in match.group() and name is not None and _EXTENSION.search(name):
            found.append(Hint(name.decode("utf-8", "surrogateescape"), None, None, origin))
    return found


def _is_code(word: re.Match[str], text: str) -> bool:
    """Return True if a word looks like a name in code, by its letters or its context."""
    name, after, before = (
        word.group(),
        text[word.end() : word.end() + 2],
        text[max(0, word.start() - 2) : word.start()],
    )
    inner = name.strip("_")
    by_letters = "_" in inner or any(a.islower() and b.isupper() for a, b in pairwise(inner))
    called = after == "()"
    qualified = (
        after in ("::", "->") or before in ("::", "->") or (before[-1:] == "#" and not before[:1].isspace())
    )
    return len(name) > 1 and len(name) <= 120 and (by_letters or called or qualified)


def _last_name(symbol: str) -> str | None:
    """Return the last part of a qualified name; None for an anonymous one (`<lambda>`)."""
    names = _NAME.findall(symbol)
    return names[-1] if names and len(names[-1]) > 1 else None


def find_paths(hints: Iterable[Hint], paths: Sequence[bytes]) -> dict[int, list[Hint]]:
    """Return the hints that name a file, by its index in `paths`.

    Traces may have paths of another machine, so the longest common suffix decides; file names must match.
    """
    wanted = [hint for hint in hints if hint.path is not None]
    by_name: dict[bytes, list[int]] = defaultdict(list)
    names = {_parts(hint)[-1] for hint in wanted}
    for number, path in enumerate(paths):
        name = path.rpartition(b"/")[2]
        if name in names:
            by_name[name].append(number)
    found: dict[int, list[Hint]] = defaultdict(list)
    for hint in wanted:
        parts = _parts(hint)
        candidates = by_name.get(parts[-1], [])
        common = {number: _common_end(parts, paths[number].split(b"/")) for number in candidates}
        longest = max(common.values(), default=0)
        meant = [number for number, length in common.items() if length == longest]
        if len(meant) <= _MOST_SAME:
            for number in meant:
                found[number].append(hint)
    return found


def _parts(hint: Hint) -> list[bytes]:
    assert hint.path is not None
    return [part for part in hint.path.encode("utf-8", "surrogateescape").split(b"/") if part]


def _common_end(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    length = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        length += 1
    return length
