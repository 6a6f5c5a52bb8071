"""Golden chunks: one sample for each language, and its chunks, which were checked by eye.

After an intended change of the rules, write them again and read the difference before committing it:

    python tests/chunking/test_chunk_golden.py && git diff tests/chunking/golden
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctx.chunking import chunk
from ctx.chunking.languages import language_of

GOLDEN = Path(__file__).parent / "golden"
SAMPLES = sorted(path for path in GOLDEN.glob("*/*") if path.suffix != ".golden")


def described(source: bytes, language: str | None) -> str:
    """One line for each chunk: lines, kind, whether it is a test, symbol, names."""
    lines = []
    for one in chunk(source, language):
        first = source.count(b"\n", 0, one.start) + 1
        last = source.count(b"\n", 0, one.end) + 1
        mark = "*" if one.is_test else ""
        lines.append(f"{first}-{last} {one.kind}{mark} {one.symbol or '-'} | {', '.join(one.names)}".rstrip())
    return "\n".join(lines) + "\n"


def golden_of(path: Path) -> Path:
    return path.with_name(path.name + ".golden")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_golden(path: Path) -> None:
    language = language_of(os.fsencode(path.name))
    assert (language or "text") == path.parent.name
    assert described(path.read_bytes(), language) == golden_of(path).read_text(encoding="utf-8")


def test_every_sample_has_chunks_and_every_golden_a_sample() -> None:
    assert SAMPLES
    assert {path.name for path in GOLDEN.glob("*/*.golden")} == {path.name + ".golden" for path in SAMPLES}


if __name__ == "__main__":
    for sample in SAMPLES:
        found = described(sample.read_bytes(), language_of(os.fsencode(sample.name)))
        golden_of(sample).write_text(found, encoding="utf-8")
