"""Interface of embedders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ctx.text.vocabulary import Counts


class Batch(NamedTuple):
    """Chunks to embed: their token counts and, computed on call, their normalised texts."""

    size: int
    rows: Counts
    texts: Callable[[], Sequence[str]]


class Embedder(Protocol):
    """Embedder of chunks and queries under one descriptor."""

    def row(self, word: str) -> int:
        """Return the row number of a lower-case word in `Batch.rows`."""

    def embed_documents(self, batch: Batch) -> npt.NDArray[np.uint8]:
        """Return the stored vectors of a batch, (size, vector bytes) uint8."""

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """Return the vector of a query, (dimensions,) float32 of unit length; zeros without words."""
