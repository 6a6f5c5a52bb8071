"""Which commits did this: the history of a repository, indexed by commit and answered from."""

from __future__ import annotations

VERSION = 1
"""The version of what is stored of commits: a new one reads the history again."""
AREA = "history"
"""The area of the store."""
