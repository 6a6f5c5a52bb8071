"""Words: how text becomes the terms that are counted, and the model's words that are embedded."""

from __future__ import annotations

VERSION = 4
"""The version of the words layer: a new one recounts words and costs no parse and no embedding."""
