"""Hamming distances over all rows: numpy beside usearch's exact search, in one run.

pip install usearch; python tests/benchmarks/hamming.py
"""

from __future__ import annotations

import sys
import time

import numpy as np
import numpy.typing as npt
from usearch.index import MetricKind, search


def best_of(times: int, function: object) -> float:
    """Time of the fastest of several runs in milliseconds."""
    assert callable(function)
    shortest = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - started)
    return shortest * 1000


def main() -> int:
    for rows in (100_000, 300_000, 1_000_000):
        bits = np.random.default_rng(0).integers(0, 1 << 63, size=(rows, 2), dtype=np.uint64)
        octets = bits.view(np.uint8).reshape(rows, 16)

        def by_numpy(bits: npt.NDArray[np.uint64] = bits) -> object:
            differing = np.bitwise_count(bits ^ bits[5])
            return differing[:, 0] + differing[:, 1]

        def by_usearch(octets: npt.NDArray[np.uint8] = octets) -> object:
            return search(octets, octets[5:6], 100, MetricKind.Hamming, exact=True, threads=1)

        print(
            f"{rows:9,} rows  numpy {best_of(5, by_numpy):7.2f} ms  usearch {best_of(5, by_usearch):7.2f} ms"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
