"""Words: splitting text into the terms that are counted and the model's words that are embedded."""

from __future__ import annotations

VERSION = 4
"""Version of the words layer: a new one recounts words, without parsing or embedding again."""
