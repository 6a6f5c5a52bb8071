"""Embedders: from text to vectors. The word table is inside the package; others plug in beside it."""
