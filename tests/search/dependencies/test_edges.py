"""Imports and references lead to the files that they mean, in each language, and else nowhere.

`projects.txt` has a small project for each language: after `===` its files, after `=>` all edges of some.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from repositories import Repo

import ctx
from ctx.search.dependencies.types import Edge

TEXT = (Path(__file__).parent / "projects.txt").read_text(encoding="utf-8")
PROJECTS = dict(re.findall(r"^##### (\w+)\n(.*?)(?=^#####|\Z)", TEXT, re.MULTILINE | re.DOTALL))
NOTHING = " -> nothing"


def files_of(language: str) -> dict[str, str]:
    return dict(re.findall(r"^=== (\S+)\n(.*?)(?=^===|^=>)", PROJECTS[language], re.MULTILINE | re.DOTALL))


def expected_of(language: str) -> dict[str, set[str]]:
    """The expected edges of files."""
    found: dict[str, set[str]] = {}
    for line in PROJECTS[language].partition("\n=>")[2].strip().splitlines():
        if line.endswith(NOTHING):
            found[line.removesuffix(NOTHING)] = set()
        else:
            found.setdefault(line.partition(":")[0], set()).add(line)
    return found


def written(edge: Edge) -> str:
    source, target = edge.source_path.decode(), edge.target_path.decode()
    return f"{source}:{edge.line} {edge.relation} {edge.symbol} -> {target}"


CASES = [(language, path) for language in PROJECTS for path in expected_of(language)]


def edges(repo: Repo, path: str, incoming: bool = False) -> list[Edge]:
    with ctx.open(repo.path) as index:
        index.index()
        dependencies = index.session.dependencies(index.session.indexer.view(index.resolve()))
        return (dependencies.incoming if incoming else dependencies.outgoing)([path.encode()])


@pytest.mark.parametrize(("language", "path"), CASES)
def test_outgoing_edges(repo: Repo, language: str, path: str) -> None:
    repo.commit(files_of(language))
    assert {written(edge) for edge in edges(repo, path)} == expected_of(language)[path]


@pytest.mark.parametrize("language", PROJECTS)
def test_incoming_edges_are_the_outgoing_ones_reversed(repo: Repo, language: str) -> None:
    repo.commit(files_of(language))
    expected = expected_of(language)
    for target in files_of(language):
        found = {written(edge) for edge in edges(repo, target, incoming=True)}
        assert {line for line in found if line.partition(":")[0] in expected} == {
            line for lines in expected.values() for line in lines if line.endswith(f" -> {target}")
        }


def test_an_ambiguous_name_is_not_resolved(repo: Repo) -> None:
    repo.commit(
        {
            "a/one.go": "package a\n\nfunc ParseThing() {}\n",
            "b/one.go": "package b\n\nfunc ParseThing() {}\n",
            "c/use.go": "package c\n\nfunc f() { x.ParseThing() }\n",
        }
    )
    assert edges(repo, "c/use.go") == []


def test_unreadable_files_have_no_edges(repo: Repo) -> None:
    repo.commit(
        {
            "empty.py": "",
            "broken.py": "from . import (((\nimport \xff\ndef f(:\n",
            "notes.md": "see `a.py`\n",
            b"caf\xe9.py": "import cart\n",
            "cart.py": "def run():\n    pass\n",
            "climb.py": "from .... import cart\n",
            "climb.js": "import cart from '../../../../cart';\n",
        }
    )
    for path in ("empty.py", "notes.md", "climb.py", "climb.js", "gone.py"):
        assert edges(repo, path) == []
    edges(repo, "broken.py")
    with ctx.open(repo.path) as index:
        dependencies = index.session.dependencies(index.session.indexer.view(index.resolve()))
        (edge,) = dependencies.outgoing([b"caf\xe9.py"])
        assert edge == Edge(b"caf\xe9.py", b"cart.py", "imports", "cart", 1)
        assert dependencies.incoming([b"cart.py"]) == [edge]


def test_malformed_settings_resolve_to_nothing(repo: Repo) -> None:
    odd = ["[]", '{"compilerOptions": {"paths": {"@/*": "x", "": [1, null]}}}', "{", '{"compilerOptions": 1}']
    for number, text in enumerate(odd):
        folder = f"p{number}/"
        repo.write(
            {
                folder + "tsconfig.json": text,
                folder + "package.json": text,
                folder + "composer.json": '{"autoload": {"psr-4": {"A": [1], "B": 1, "C": null}}}',
                folder + "a.ts": "import { b } from '@/b';\nimport c from '@x/y';\n",
                folder + "b.php": "<?php\nuse A\\B;\n",
            }
        )
    repo.commit()
    for number in range(len(odd)):
        assert edges(repo, f"p{number}/a.ts") == []
        assert edges(repo, f"p{number}/b.php") == []
