"""Invariants of every chunking."""

from __future__ import annotations

from ctx.chunking import chunk
from ctx.chunking.tiling import SPACES
from ctx.types import KINDS


def check(source: bytes, language: str | None) -> None:
    chunks = chunk(source, language)
    assert chunks == chunk(source, language)
    end = 0
    for one in chunks:
        assert end <= one.start < one.end
        assert not source[end : one.start].strip(SPACES), "text between two chunks"
        text = source[one.start : one.end]
        assert text.rstrip(SPACES) == text
        assert text.partition(b"\n")[0].strip(SPACES), "a chunk begins with a blank line"
        assert one.kind in KINDS
        assert all(one.names)
        end = one.end
    assert not source[end:].strip(SPACES), "text after the last chunk"
