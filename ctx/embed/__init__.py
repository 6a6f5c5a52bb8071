"""Embedders: from text to vectors. The word table is inside the package; others plug in beside it."""

MODEL_ID = "wordtable-1"
DIMENSIONS = 128
"""Of the model inside the package; here, so that its name is known without what computes with it."""
