"""Size limits of chunking, in bytes. Changing one changes `ctx.chunking.VERSION`."""

from __future__ import annotations

LIMIT = 1500
"""A syntax unit up to this size is kept whole; pieces of a larger one are packed up to it."""

JOIN = 1200
"""Small neighbours are joined up to this size."""

STATEMENT = 750
"""A statement of a function that is split may itself be split from this size on."""

HEADER = 300
"""The header of a construct up to this size is kept with its first statement."""

ALONE = 120
"""A function or type from this size on is not joined with its neighbours."""

WHOLE = 600
"""A type with members is kept whole up to this size; a larger one is split into its members."""

TINY = 80
"""A piece below this size is joined to a neighbour that has room."""

HARD = 8000
"""An indivisible unit (a header with its documentation) is split by lines above this size."""

DEPTH = 120
"""Maximum recursion depth; deeper nesting is split by lines."""
