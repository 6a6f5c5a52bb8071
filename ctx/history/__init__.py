"""Index of a repository's history by commit, and search in it."""

from __future__ import annotations

VERSION = 1
"""Version of the stored data of commits: a new one reindexes the history."""
AREA = "history"
"""Area of the store."""
