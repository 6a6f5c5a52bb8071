"""Write the nearest words of each word of the embedded model, by vectors of single words.

    python tests/training/table/neighbours.py word-vectors-768.npz ctx/models/neighbours-1.bin

The vectors are those that the model's table was made from (docs/model.md). Of words with the same stem only
the nearest counts, and the word's own stem is left out: the index has stems.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from ctx.models.static_embedding import static_embedding
from ctx.storage.arrays import encode
from ctx.text.stem import stem
from ctx.text.terms import is_term

NEAREST = 16
LEAST = 0.3
_READ = 160


def main(arguments: list[str]) -> int:
    source, target = arguments
    stored = np.load(source)
    table = static_embedding()
    place = {word: number for number, word in enumerate(stored["tokens"].tolist())}
    known = [word for word in table.words if word in place and is_term(word)]
    rows = np.array([table.row(word) for word in known])
    vectors = stored["vectors"].astype(np.float32)
    vectors -= vectors.mean(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    vectors = vectors[[place[word] for word in known]]
    stems = [stem(word) for word in known]
    nearest = np.zeros((len(table.words), NEAREST), dtype="<u2")
    cosine = np.zeros(nearest.shape, dtype=np.uint8)
    for start in range(0, len(known), 512):
        similar = vectors[start : start + 512] @ vectors.T
        best = np.argpartition(-similar, _READ, axis=1)[:, :_READ]
        for number, (values, order) in enumerate(zip(similar, best, strict=True), start):
            seen = {stems[number]}
            found = []
            for other in sorted(
                order.tolist(), key=lambda one, values=values: (-round(float(values[one]), 4), one)
            ):
                if values[other] < LEAST or len(found) == NEAREST:
                    break
                if stems[other] not in seen:
                    seen.add(stems[other])
                    found.append(other)
            row = rows[number]
            nearest[row, : len(found)] = rows[found]
            cosine[row, : len(found)] = np.rint(values[found] * 255)
    Path(target).write_bytes(encode({"nearest": nearest, "cosine": cosine}, {"format": 1}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
