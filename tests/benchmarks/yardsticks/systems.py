"""The compared programs behind one call: locations in a tree for some queries, best first."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctx.index import Index
from ctx.ranking.tuning import PLAIN, Tuning
from ctx.search.evaluation.parents import Parents
from ctx.search.hits import FileFilter, search_view, texts_of_rows
from ctx.storage.views.view import View
from ctx.text.contents import to_text

GRADED = 10
"""Results requested from semble first, because this many are graded."""
LIMIT = 50
"""Results kept for each query."""

Results = list[list[Any]]
"""[paths, first line, last line, tokens] for each result, best first."""

_TOKEN = re.compile(r"[A-Za-z]{1,7}|[0-9]{1,3}|\n\s*|[^\sA-Za-z0-9]{1,2}")


def tokens(text: str) -> int:
    """Approximate the tokens of a language model: word pieces, numbers, pairs of marks, indentation.

    An approximation, because real vocabularies are downloads; the same for every program.
    """
    return len(_TOKEN.findall(text))


class Ours:
    """git-ctx as shipped, in this process, at any tree of a repository."""

    name = "git-ctx"

    def __init__(self, index: Index) -> None:
        self._repository = index.repository
        self.parents = Parents(index.session)
        self._text_of = texts_of_rows(self.parents.records, index.session.text)

    def search(
        self,
        view: View,
        queries: Sequence[str],
        pathspecs: Sequence[str] = (),
        tuning: Tuning = PLAIN,
    ) -> list[Results]:
        """Return the results of each query in the tree of a view."""
        filters = FileFilter(self._repository, pathspecs)
        tuning = tuning._replace(text_of=self._text_of)
        return [self._shown(view, query, filters, tuning) for query in queries]

    def _shown(self, view: View, query: str, filters: FileFilter, tuning: Tuning) -> Results:
        hits = search_view(view, self.parents.records(view), query, LIMIT, filters, tuning=tuning).hits
        found: Results = []
        blobs = self._repository.read_blobs([bytes.fromhex(hit.blob) for hit in hits])
        for hit, blob in zip(hits, blobs, strict=True):
            text = "" if blob is None else to_text(blob, hit.position.start, hit.position.end)
            found.append([[hit.path, *hit.also_at], *hit.lines, tokens(text)])
        return found


class Semble:
    """semble in a separate process, with a model2vec folder and a separate cache."""

    name = "semble"

    def __init__(self, python: str, model: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            [python, str(Path(__file__).with_name("semble_worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ
            | {
                "SEMBLE_MODEL_NAME": os.path.abspath(model),
                "SEMBLE_CACHE_LOCATION": self._folder.name,
                "SEMBLE_INDEX_WORKERS": "0",
            },
        )

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()

    def search(self, folder: Path, queries: Sequence[str]) -> list[Results]:
        """Return the results of each query in the files of a folder."""
        return [
            [[[path], first, last, tokens(text)] for path, first, last, text in results]
            for results in self.ask(folder, queries)
        ]

    def ask(self, folder: Path, queries: Sequence[str]) -> list[list[tuple[str, int, int, str]]]:
        """Path, first line, last line and text of each result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"folder": str(folder), "queries": list(queries), "graded": GRADED, "limit": LIMIT}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found: list[list[tuple[str, int, int, str]]] = json.loads(self._process.stdout.readline())
        return found


def command_line(*places: str) -> argparse.ArgumentParser:
    """The common options: these locations, names of projects if not all, and semble."""
    parser = argparse.ArgumentParser()
    for place in places:
        parser.add_argument(place, type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--semble", help="the Python of a virtual environment with semble 0.7")
    parser.add_argument("--model", help="a model2vec folder for semble")
    return parser


def clone(repository: Path, folder: Path) -> None:
    """A clone without files and without the index of the repository."""
    subprocess.run(["git", "clone", "-q", "--no-checkout", repository, folder], check=True)


def checkout(folder: Path, revision: str) -> None:
    """Check out the files of a revision that the clone has; unchanged files are not touched.

    A clone may lack large files, which are not indexed.
    """
    command = ["git", "-c", "advice.detachedHead=false", "checkout", "-q", "-f", revision, "--"]
    if subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL).returncode:
        patterns = "".join(f"!/{path}\n" for path in _missing(folder, revision))
        subprocess.run(["git", "-C", folder, "config", "core.sparseCheckout", "true"], check=True)
        (folder / ".git" / "info").mkdir(exist_ok=True)
        (folder / ".git" / "info" / "sparse-checkout").write_text("/*\n" + patterns)
        subprocess.run(command, cwd=folder, check=True)


def _missing(folder: Path, revision: str) -> list[str]:
    """The paths of a revision whose blobs are missing."""
    listing = subprocess.run(
        ["git", "-C", folder, "ls-tree", "-r", "-z", "--format=%(objectname) %(path)", revision],
        check=True,
        capture_output=True,
    ).stdout.decode()
    entries = [entry.split(" ", 1) for entry in listing.split("\0") if entry]
    found = subprocess.run(
        ["git", "-C", folder, "cat-file", "--batch-check"],
        input="".join(f"{oid}\n" for oid, _ in entries).encode(),
        check=True,
        capture_output=True,
    ).stdout.splitlines()
    return [path for (_, path), line in zip(entries, found, strict=True) if line.endswith(b" missing")]
