"""Pack a trained word table for the package: int8 rows, a scale for documents and one for queries.

    python tests/training/table/pack.py TABLE ctx/models/wordtable-2.bin

Words of other languages (`lexicon.txt`) without a trained row get the mean row of their meanings.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from lexicon import translations

from ctx.storage.arrays import encode

_LENGTH = 4.0
"""The mean length of a row: rows are rounded to 1/4096 when they are summed."""
_MOST_MEANINGS = 3
"""Bigrams of Chinese or Japanese with more meanings than this are left out."""

Floats = npt.NDArray[np.float64]


def translated(words: list[str], code: Floats, query: Floats) -> tuple[list[str], Floats, Floats]:
    """Words of other languages with their rows as documents and as queries."""
    place = {word: row for row, word in enumerate(words)}
    added: list[str] = []
    of_code: list[Floats] = []
    of_query: list[Floats] = []
    for word, meant in sorted(translations().items()):
        rows = [place[english] for english in meant if english in place]
        if word in place or (meant and not rows):
            continue
        share = len(rows) if 0 < len(rows) <= _MOST_MEANINGS else 0
        added.append(word)
        for side, found in ((code, of_code), (query, of_query)):
            found.append(side[rows].mean(axis=0) if share else np.zeros(side.shape[1]))
    return added, np.array(of_code), np.array(of_query)


def packed(table: Any) -> bytes:
    """The bytes of a table file. `table` has `tokens`, float `vectors`, `query`, `code`, `buckets`."""
    words = [str(word) for word in table["tokens"]]
    vectors = table["vectors"].astype(np.float64)
    code, query = vectors * table["code"][:, None], vectors * table["query"][:, None]
    added, more_code, more_query = translated(words, code, query)
    code = np.concatenate([code[: len(words)], more_code, code[len(words) :]])
    query = np.concatenate([query[: len(words)], more_query, query[len(words) :]])
    lengths = np.linalg.norm(code, axis=1)
    unit = _LENGTH / lengths.mean()
    scales = unit * np.maximum(np.abs(code).max(axis=1), 1e-9) / 127
    ratio = np.linalg.norm(query, axis=1) / np.maximum(lengths, 1e-9)
    words += added
    arrays = {
        "vectors": np.rint(unit * code / scales[:, None]).astype(np.int8),
        "scales": scales.astype("<f4"),
        "query_scales": (scales * ratio).astype("<f4"),
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
    }
    return encode(arrays, {"words": len(words), "buckets": int(table["buckets"])})


def main(source: str, target: str) -> int:
    with np.load(source) as table:
        Path(target).write_bytes(packed(table))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
