"""semble as a process that searches folders, run by the Python that has semble installed.

Reads one JSON object per line, `{"folder": …, "queries": […], "graded": k, "limit": n}`, and writes one line
with the n results of each query as [path, first line, last line, text]. The order of semble depends on the
number of results requested, so the first k are those of a request for k. The index of a folder is kept in the
cache of semble and updated by semble from the modification times of the files, as for its users.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from semble.cache import save_index_to_cache
from semble.index import SembleIndex


def ranked(index: Any, query: str, graded: int, limit: int) -> list[Any]:
    """Return the results of a query, best first."""
    first = index.search(query, top_k=graded)
    places = {place(result) for result in first}
    return [*first, *(one for one in index.search(query, top_k=limit) if place(one) not in places)]


def place(result: Any) -> tuple[str, int, int]:
    """Return the identity of a result."""
    return result.chunk.file_path, result.chunk.start_line, result.chunk.end_line


def main() -> int:
    out = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        asked = json.loads(line)
        index = SembleIndex.from_path(asked["folder"])
        save_index_to_cache(index, asked["folder"])
        found = [
            [
                [
                    result.chunk.file_path,
                    result.chunk.start_line,
                    result.chunk.end_line,
                    result.chunk.content,
                ]
                for result in ranked(index, query, asked["graded"], asked["limit"])
            ]
            for query in asked["queries"]
        ]
        out.write(json.dumps(found) + "\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
