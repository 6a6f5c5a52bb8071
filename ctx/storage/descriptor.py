"""What every stored value depends on besides its input, spelt out in one place.

A cluster key is a hash over the descriptor and the members, so whatever changes the bytes of a cluster must
change the descriptor: its version has those of the cluster's layout, of the chunker and of the grammars.
The words layer is not in it: counting words anew never costs an embedding.
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
    """Written `CODE_BLOCKS-<model>-<dimensions>-<precision>-<version>`."""

    scope: str
    embed_model_id: str
    dimensions: int
    precision: str
    version: str

    def __str__(self) -> str:
        return "-".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> Descriptor:
        """A written descriptor; the name of a model may hold dashes itself. Raises ValueError."""
        scope, _, rest = text.partition("-")
        model, dimensions, precision, version = rest.rsplit("-", 3)
        return cls(scope, model, int(dimensions), precision, version)

    def as_dict(self) -> dict[str, str | int]:
        """The descriptor as JSON shows it."""
        return {
            "scope": self.scope,
            "embedModelId": self.embed_model_id,
            "dimensions": self.dimensions,
            "precision": self.precision,
            "version": self.version,
        }

    @property
    def vector_bytes(self) -> int:
        """Bytes of one stored vector."""
        return vector_bytes(self.dimensions, self.precision)

    @property
    def by_member(self) -> bool:
        """Whether vectors are stored for each file, not for each document: the model reads the path too."""
        return self.embed_model_id != MODEL_ID


def embedded_model() -> Descriptor:
    """The descriptor of the model inside the package."""
    version = f"{CLUSTER_VERSION}.{chunking.VERSION}+{grammar_version()}"
    return Descriptor(SCOPE, MODEL_ID, DIMENSIONS, PRECISION, version)
