"""Texts as counts of words, split by the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctx.text.vocabulary import Vocabulary

_BLOCK_BYTES = 1 << 19


def numbering() -> tuple[dict[str, int], Callable[[str], int]]:
    """Words numbered in order of first occurrence."""
    numbers: dict[str, int] = {}
    return numbers, lambda word: numbers.setdefault(word, len(numbers))


def counted(texts: list[str], vocabulary: Vocabulary) -> dict[str, Any]:
    """The words of texts in compressed rows: `at` (texts + 1,), `word`, `times`."""
    at, word, times = [np.zeros(1, dtype=np.int64)], [], []
    block: list[bytes] = []

    def read() -> None:
        bounds, start = [], 0
        for text in block:
            bounds.append((start, start + len(text)))
            start += len(text) + 1
        rows = vocabulary.read(b"\n".join(block), bounds).rows
        ends = np.searchsorted(rows.text, np.arange(len(block)), side="right")
        at.append(at[-1][-1] + ends)
        word.append(rows.word.astype(np.int32))
        times.append(np.minimum(rows.times, 60_000).astype(np.uint16))
        block.clear()

    size = 0
    for text in texts:
        block.append(text.encode("utf-8", "surrogatepass"))
        size += len(block[-1])
        if size > _BLOCK_BYTES:
            read()
            size = 0
    if block:
        read()
    return {"at": np.concatenate(at), "word": np.concatenate(word), "times": np.concatenate(times)}
