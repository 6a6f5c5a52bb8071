"""Documentation, docstrings and messages are plain English; CONTRIBUTING.md has the rules."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRIVATE = re.compile(
    r"\b(mend(s|ed|ing)?|anew|wish(es|ed|ing)?|told|lend(s|ing)?|lent|lenders?|spelt|so many|way out"
    r"|what lacks|as \w+ as can be)\b",
    re.IGNORECASE,
)
"""Words that this project once used in a sense of its own, or that few readers know."""
STORED = {"mended", "wish", "wishes"}
"""Private words that are stored or published, and so stay: each only as a string or a path."""
OPENING = re.compile(r"(What|Whether|Which|How|That|As)\b")
"""First words of a docstring that is a riddle and not a statement."""
WIDTH = 100
NOT_PROSE = ("|", "```", "#", "[", "<", "    ", "  |")


def tracked(*patterns: str) -> list[Path]:
    """Return the tracked files that match git pathspecs."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--", *patterns]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    names = [name for name in listed.split("\0") if name and "golden" not in name]
    return [ROOT / name for name in names if ROOT / name != Path(__file__)]


def test_no_file_uses_a_private_word() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {match[0]}"
        for file in tracked("*.py", "*.md", "*.mdc", "*.1", "*.toml", "*.cfg", "*.yml")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for match in PRIVATE.finditer(line)
        if match[0] not in STORED or not re.search(rf"[\"'`/ ]{match[0]}[\"'`/]", line)
    ]
    assert found == []


def test_docstrings_are_statements() -> None:
    found = []
    for file in tracked("ctx/*.py", "tests/*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node) or ""
                if OPENING.match(text):
                    found.append(f"{file.relative_to(ROOT)}: {text.splitlines()[0]}")
    assert found == []


PAGES = tracked("*.md", ":!tests/benchmarks", ":!ctx")


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_pages_are_wrapped(file: Path) -> None:
    is_code, found = False, []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and len(line) > WIDTH and not line.startswith(NOT_PROSE) and " " in line.strip():
            found.append(f"{number}: {line[:60]}")
    assert found == []
