"""Fetching the missing objects that indexing of a tree needs, in a partial clone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctx.git.formats import DIRECTORY_MODE
from ctx.git.path_rules import RULE_FILES
from ctx.git.promised import fetch_promised
from ctx.git.repository import Repository

Announce = Callable[[int], None]
"""Called with the number of objects before each fetch."""


def fetch_lacking(
    repository: Repository, tree: bytes, files: Callable[[], Iterable[bytes]], announce: Announce
) -> int:
    """Fetch the missing subtrees of a tree, then rule files, then `files`, each in bulk.

    `files` returns the blobs selected by the path rules; it is called when the rule files are present.
    Returns the number of fetched objects. Raises GitFailed.
    """
    fetched = 0

    def fetch(oids: Sequence[bytes]) -> None:
        nonlocal fetched
        if oids:
            announce(len(oids))
            fetch_promised(repository, oids)
            fetched += len(oids)

    absent, rules = _survey(repository, tree)
    while absent:  # fetching a tree brings what is below it
        fetch(absent)
        absent, rules = _survey(repository, tree)
    fetch(repository.objects.absent(rules))
    fetch(repository.objects.absent(list(dict.fromkeys(files()))))
    return fetched


def _survey(repository: Repository, tree: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the missing trees found so far, and the rule files of the present ones."""
    absent: list[bytes] = []
    rules: dict[bytes, None] = {}
    met = {tree}
    open_ = [tree]
    while open_:
        found = repository.trees_entries(open_)
        absent += [one for one in open_ if one not in found]
        open_ = []
        for entries in found.values():
            for entry in entries:
                if entry.mode == DIRECTORY_MODE and entry.oid not in met:
                    met.add(entry.oid)
                    open_.append(entry.oid)
                elif entry.name in RULE_FILES and entry.mode != DIRECTORY_MODE:
                    rules[entry.oid] = None
    return absent, list(rules)
