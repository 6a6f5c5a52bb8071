"""The path of a document, capped, as a remote model reads it in front of the text.

Both ends of a path say something: the first directories which part of the project it is, the last ones and
the name what the file is about. What is cut is the middle.
"""

from __future__ import annotations

CAP = 96
"""Characters of a path that are shown to a model unless the user says otherwise."""
_GAP = "…"


def cap_path(path: str, limit: int = CAP) -> str:
    """A path of at most `limit` characters that keeps both ends.

    The longest run of leading directories that fits, `…`, the parent and the name; without its directories
    where these two alone are too long, and then with its own middle cut where the name is.
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
    """A text under the header that names its file, or a query under the directory it is restricted to."""
    return f"Filepath: {cap_path(path, limit)}\n---\n{text}"
