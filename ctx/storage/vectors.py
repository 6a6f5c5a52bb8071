"""Name and dimensions of the embedding model in the package, and the sizes of stored vectors."""

MODEL_ID = "wordtable-2"
DIMENSIONS = 128
"""Dimensions of the model in the package; defined here so that numpy is not imported."""

BITS_A_DIMENSION = {"bit": 1, "int8": 8, "f16": 16, "f32": 32}
"""Bits for each dimension, by precision."""


def vector_bytes(dimensions: int, precision: str) -> int:
    """Return the size of one stored vector in bytes."""
    return dimensions * BITS_A_DIMENSION[precision] // 8
