"""What an embedder is to the rest of the program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ctx.text.vocabulary import Counts


class Batch(NamedTuple):
    """Chunks to embed: their token counts and, made only when called, their normalised texts."""

    size: int
    rows: Counts
    texts: Callable[[], Sequence[str]]


class Embedder(Protocol):
    """Turns chunks and queries into vectors of one descriptor."""

    def row(self, word: str) -> int:
        """The number that `Batch.rows` has for a lower-case word."""

    def embed_documents(self, batch: Batch) -> npt.NDArray[np.uint8]:
        """The stored vectors of a batch, (size, vector bytes) uint8."""

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        """The vector of a query, (dimensions,) float32 of unit length; zeros for a text without words."""
