"""Which objects of a tree have to be fetched before all of it can be indexed, and fetching them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ctx.git.formats import DIRECTORY_MODE
from ctx.git.promised import fetch_promised
from ctx.git.repository import Repository
from ctx.indexing.path_rules import RULE_FILES

Told = Callable[[int], None]
"""Is told how many objects are fetched now."""


def fetch_lacking(
    repository: Repository, tree: bytes, files: Callable[[], Iterable[bytes]], told: Told
) -> int:
    """Fetch what a tree lacks of trees, then of rule files, then of `files`; each of them in one go.

    `files` gives the blobs that the path rules let in, which are known only when the rule files are here.
    Gives the number of objects that were fetched. Raises GitFailed.
    """
    fetched = 0

    def fetch(oids: Sequence[bytes]) -> None:
        nonlocal fetched
        if oids:
            told(len(oids))
            fetch_promised(repository, oids)
            fetched += len(oids)

    absent, rules = _survey(repository, tree)
    while absent:  # what is below a tree comes with it
        fetch(absent)
        absent, rules = _survey(repository, tree)
    fetch(repository.objects.absent(rules))
    fetch(repository.objects.absent(list(dict.fromkeys(files()))))
    return fetched


def _survey(repository: Repository, tree: bytes) -> tuple[list[bytes], list[bytes]]:
    """The trees that are not here, as far as they are known, and the rule files of the others."""
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
