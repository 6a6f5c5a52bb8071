"""semble as a process that answers from folders: run by the Python that has semble, never by ours.

Reads one JSON object a line, `{"folder": …, "queries": […], "limit": n}`, and writes one line with the
results of each query as [path, first line, last line, text]. The index of a folder is kept in semble's own
cache and brought up to date by semble itself, from the times of the files, as its users have it.
"""

from __future__ import annotations

import json
import sys

from semble.cache import save_index_to_cache
from semble.index import SembleIndex


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
                for result in index.search(query, top_k=asked["limit"])
            ]
            for query in asked["queries"]
        ]
        out.write(json.dumps(found) + "\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
