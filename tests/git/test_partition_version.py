"""Tables and constants that determine the partition change only together with PARTITION_VERSION."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from repositories import Repo

import ctx
from ctx.chunking import language_table
from ctx.chunking.languages import language_of, linguist_name_to_language
from ctx.git import path_rules
from ctx.git.repository import open_repository
from ctx.storage import partition, snapshots
from ctx.storage.views import catalog

HELD = (3, "65c55094958e83478ed8bc275001eb61")
"""PARTITION_VERSION and the digest of what it covers; if the digest changes, raise the version."""


def test_partition_inputs_have_a_version(repo: Repo) -> None:
    names = {
        *(name.decode() for name in path_rules._LOCK_FILES),
        *("a" + end.decode() for end in path_rules._GENERATED_ENDS),
        *("a." + extension.decode() for extension in path_rules._BINARY_ENDS),
        *("a." + extension for extension in language_table.EXTENSIONS),
        *language_table.NAMES,
        *(prefix + "a" for prefix in language_table.PREFIXES),
        *("Makefile.am", "a.unknown", "a.d.ts", "a.svg", ".png", "png", "A.C", "a.PY"),
    }
    repo.commit({"a": ""})
    with open_repository(repo.path) as repository:
        rules = path_rules.PathRules.root(
            repository, repository.tree_entries(repository.resolve_tree("HEAD").tree)
        )
    lines = [
        f"{name} {rules.judge(name.encode(), 0o100644)} {language_of(name.encode())}"
        for name in sorted(names)
    ]
    linguist_names = sorted(name.replace("-", " ") for name in language_table.LINGUIST_NAMES)
    lines += [f"{name} {linguist_name_to_language(name)}" for name in linguist_names]
    lines += [
        f"{partition.SMALL} {partition._TYPICAL_RUN} {partition._LONGEST_RUN} {partition._DEEPEST_NODE}",
        " ".join(name.decode() for name in path_rules._ATTRIBUTES),
    ]
    digest = blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
    assert (partition.PARTITION_VERSION, digest) == HELD


def test_snapshots_of_another_partition_version_are_not_used(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.commit({"session.py": "def open_session(store):\n    return store.open()\n"})
    with ctx.open(repo.path) as index:
        index.index()
    newer = partition.PARTITION_VERSION + 1
    for module in (partition, snapshots, catalog):
        monkeypatch.setattr(module, "PARTITION_VERSION", newer)
    monkeypatch.setattr(path_rules, "_BINARY_ENDS", path_rules._BINARY_ENDS | {b"py"})
    with ctx.open(repo.path) as index:
        assert index.index().skipped is None
        assert not index.search("open the session").hits
