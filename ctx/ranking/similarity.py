"""The cosine of stored sign vectors with the float vector of a query."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ctx.ranking.query import Query
from ctx.ranking.signals import Floats

_UNIT = 4096.0
_SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1.0


def similarity(octets: npt.NDArray[np.uint8], query: Query) -> Floats:
    """Return the cosine of sign vectors (n, dimensions / 8) with the query, in -1..1."""
    # Integers, so that the sum does not depend on the order; by octets, to avoid unpacking bits.
    whole = np.rint(query.vector.astype(np.float64) * _UNIT).reshape(-1, 8)
    table = (whole @ _SIGNS.T).astype(np.int32)
    summed = np.zeros(len(octets), dtype=np.int32)
    for values, column in zip(table, octets.T, strict=False):  # a tree without segments has no bits
        summed += values.take(column)
    cosine: Floats = summed / (_UNIT * np.sqrt(8.0 * octets.shape[1]))
    return cosine
