"""Embedders: from text to vectors. The word table is inside the package; others plug in beside it."""

MODEL_ID = "wordtable-2"
DIMENSIONS = 128
"""Of the model inside the package; here, so that its name is known without what computes with it."""

BITS_A_DIMENSION = {"bit": 1, "int8": 8, "f16": 16, "f32": 32}
"""The precisions in which a vector can be stored."""


def vector_bytes(dimensions: int, precision: str) -> int:
    """Bytes of one stored vector."""
    return dimensions * BITS_A_DIMENSION[precision] // 8
