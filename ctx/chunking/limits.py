"""The sizes that steer chunking, in bytes. Changing one changes `ctx.chunking.VERSION`."""

from __future__ import annotations

LIMIT = 1500
"""A syntax unit up to this size is kept whole; pieces of a larger one are packed up to it."""

JOIN = 1200
"""Small neighbours are joined while the result stays within this."""

STATEMENT = 750
"""A statement of a function that has to be cut may be cut inside from this size on."""

HEADER = 300
"""The beginning of a construct up to this size is never parted from the first statement in it."""

TINY = 80
"""Less than this is never worth a chunk while a neighbour has room."""

HARD = 8000
"""What may not be cut (a header with its documentation) is cut by lines above this."""

DEPTH = 120
"""Nesting beyond this is cut by lines; no recursion goes deeper."""
