"""Descriptor: everything that stored values depend on besides their input.

A cluster key is a hash of the descriptor and the members, so any change of the bytes of a cluster must change
the descriptor. Its version includes those of the cluster layout, the chunker and the grammars, but not that
of term counting: counting terms again never requires new embeddings.
"""

from __future__ import annotations

from typing import NamedTuple

from ctx import chunking
from ctx.chunking.grammar_version import grammar_version
from ctx.storage.vectors import DIMENSIONS, MODEL_ID, vector_bytes

SCOPE = "CODE_BLOCKS"
PRECISION = "bit"

CLUSTER_VERSION = 1
"""The layout of a cluster blob and the form of the text that is embedded (docs/format.md)."""


class Descriptor(NamedTuple):
    """A descriptor, written as `CODE_BLOCKS-<model>-<dimensions>-<precision>-<version>`."""

    scope: str
    embed_model_id: str
    dimensions: int
    precision: str
    version: str

    def __str__(self) -> str:
        return "-".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Descriptor:
        """Parse a written descriptor; the name of the model may contain dashes. Raises ValueError."""
        scope, _, rest = text.partition("-")
        model, dimensions, precision, version = rest.rsplit("-", 3)
        return cls(scope, model, int(dimensions), precision, version)

    def as_dict(self) -> dict[str, str | int]:
        """Return the descriptor in JSON form."""
        return {
            "scope": self.scope,
            "embedModelId": self.embed_model_id,
            "dimensions": self.dimensions,
            "precision": self.precision,
            "version": self.version,
        }

    @property
    def vector_bytes(self) -> int:
        """Size of one stored vector in bytes."""
        return vector_bytes(self.dimensions, self.precision)

    @property
    def by_member(self) -> bool:
        """Return True if vectors are stored per file and not per document: the model reads the path."""
        return self.embed_model_id != MODEL_ID


def embedded_model() -> Descriptor:
    """Return the descriptor of the model inside the package."""
    version = f"{CLUSTER_VERSION}.{chunking.VERSION}+{grammar_version()}"
    return Descriptor(SCOPE, MODEL_ID, DIMENSIONS, PRECISION, version)
