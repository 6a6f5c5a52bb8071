"""The names of the files that lie beside the vectors of a remote model, or how they begin.

Whoever writes one of them and whoever takes stock of the store read them here.
"""

PROBE = "probe-0"
"""What the model said to fixed texts."""
MODEL = "model-0"
"""How the model is asked."""
CUT = "cut-0"
"""Texts that were too long."""
CONFIRMED = "confirmed-"
"""When the model at an address was last found to be the same."""
ARRIVED = "arrived-"
"""Vectors whose clusters are not whole yet."""
