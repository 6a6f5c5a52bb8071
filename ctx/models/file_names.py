"""Names, or prefixes of names, of the files beside the vectors of a remote model.

Used by their writers and by the inventory of the store.
"""

PROBE = "probe-0"
"""Answer of the model to fixed texts."""
MODEL = "model-0"
"""Settings of requests to the model."""
CUT = "cut-0"
"""Hashes of truncated texts."""
CONFIRMED = "confirmed-"
"""Prefix: the modification time is that of the last successful check of an address."""
ARRIVED = "arrived-"
"""Prefix: journal of vectors whose clusters are not complete."""
