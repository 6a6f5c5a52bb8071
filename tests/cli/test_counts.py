"""Numbers of things are words for people: one file is no "files"."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ctx
from ctx.text.pluralize import pluralize, pluralize_with

PLURAL = re.compile(
    r" (?:(?:new|more|later|older) )?(?:blobs|chunks|clusters|commits|files|hits|lines|objects|packs|pieces|"
    r"requests|snapshots|submodules|texts|tokens|vectors)\b(?!/)"
)
ROOT = Path(ctx.__file__).parent


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 new files"), (1, "1 new file"), (2, "2 new files"), (2000, "2,000 new files")]
)
def test_a_number_of_things(count: int, words: str) -> None:
    assert pluralize(count, "new file") == words


def test_pluralize_with_a_verb() -> None:
    assert pluralize_with(1, "file", "is", "are") == "1 file is"
    assert pluralize_with(12, "file", "is", "are") == "12 files are"


def counts(path: Path) -> list[str]:
    """The counts in the strings of a module that are wrong where they are one; constants never are."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, text in zip(node.values, node.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(text, ast.Constant):
                continue
            named = ast.unparse(value.value)
            if not named.isupper() and PLURAL.match(str(text.value)):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {named}{str(text.value)[:20]}")
    return found


def test_no_string_formats_a_count_by_itself() -> None:
    """A rate, with a slash behind its unit, is none."""
    assert [one for path in sorted(ROOT.rglob("*.py")) for one in counts(path)] == []
