"""Pack a word table (`tokens`, int8 `vectors`, float32 `scales`, `buckets` in an .npz) for the package.

python tests/bench/pack_table.py prototype-128.npz ctx/embed/wordtable-1.bin
"""

from __future__ import annotations

import sys

import numpy as np

from ctx.arrays import encode


def main(source: str, target: str) -> int:
    table = np.load(source)
    words = [str(word) for word in table["tokens"]]
    arrays = {
        "vectors": table["vectors"],
        "scales": table["scales"].astype("<f4"),
        "words": np.frombuffer("\n".join(words).encode(), dtype=np.uint8),
    }
    with open(target, "wb") as file:
        file.write(encode(arrays, {"words": len(words), "buckets": int(table["buckets"])}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
