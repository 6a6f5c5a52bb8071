"""The shortened path of a document, which a remote model reads before the text.

Both ends of a path are informative: the first directories identify the part of the project, the last ones and
the name the topic of the file. So the middle is removed.
"""

from __future__ import annotations

CAP = 96
"""Default maximum number of characters of a path."""
_GAP = "…"


def cap_path(path: str, limit: int = CAP) -> str:
    """Return a path of at most `limit` characters that keeps both ends.

    It is the longest run of leading directories that fits, `…`, the parent and the name. If parent and name
    alone are too long, it is the name, itself shortened in the middle if needed.
    """
    if len(path) <= limit:
        return path
    parts = path.split("/")
    tail = "/".join(parts[-2:])
    for kept in range(len(parts) - 3, 0, -1):
        capped = "/".join([*parts[:kept], _GAP, tail])
        if len(capped) <= limit:
            return capped
    if len(parts) > 2 and len(_GAP) + 1 + len(tail) <= limit:
        return f"{_GAP}/{tail}"
    name = parts[-1]
    if len(name) <= limit:
        return name
    back = (limit - 1) // 2
    return name[: limit - 1 - back] + _GAP + (name[-back:] if back else "")


def with_path(path: str, text: str, limit: int = CAP) -> str:
    """Return a text with a header that names its file, or a query with its directory."""
    return f"Filepath: {cap_path(path, limit)}\n---\n{text}"
