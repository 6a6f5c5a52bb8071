"""Damaged views and segments: detected by the checksum, and harmless if the checksum matches."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from projects import QUERIES, project
from repositories import Repo
from ways import ask, program

import ctx
from ctx.errors import Damaged
from ctx.storage import arrays
from ctx.types import COMMITTED

FEW = (QUERIES[0], QUERIES[2])
FILTERS = ((), ("src",))
KINDS = ("segment", "view")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a repository whose view has two segments; never changed."""
    patch = pytest.MonkeyPatch()
    for who in ("AUTHOR", "COMMITTER"):
        patch.setenv(f"GIT_{who}_NAME", "Ada Tester")
        patch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    repo = Repo(tmp_path_factory.mktemp("arrays") / "repo")
    repo.path.mkdir()
    repo.git("init", "--quiet")
    repo.git("symbolic-ref", "HEAD", "refs/heads/main")
    repo.commit(project(8, 60))
    with ctx.open(repo.path) as index:
        index.index(jobs=1)
    repo.commit(project(9, 12))
    with ctx.open(repo.path) as index:
        index.index(jobs=1)
    yield repo.path
    patch.undo()


@pytest.fixture(scope="module")
def expected(indexed: Path) -> object:
    """Return the answers before any damage."""
    return ask(indexed, FEW, FILTERS)


@pytest.fixture
def copy(indexed: Path, tmp_path: Path) -> Path:
    shutil.copytree(indexed, tmp_path / "copy")
    return tmp_path / "copy"


def files(path: Path, kind: str) -> list[Path]:
    """Return the array files of a kind in the index of a repository, by name."""
    return sorted((path / ".git" / "ctx" / "views").glob(f"*/{kind}-*"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_anywhere_is_a_miss(copy: Path, expected: object, kind: str) -> None:
    made = random.Random(kind)
    for _ in range(12):
        for file in files(copy, kind):
            data = bytearray(file.read_bytes())
            data[made.randrange(len(data))] ^= 1 << made.randrange(8)
            file.write_bytes(data)
            with pytest.raises(Damaged):
                arrays.map_file(str(file))
        assert ask(copy, FEW, FILTERS) == expected
        # Rebuilt once, and found by the next search.
        with ctx.open(copy) as index:
            assert index.session.catalog.view(index.resolve().tree) is not None


def test_large_files_are_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "large"
    data = bytearray(arrays.encode({"row_bits": np.zeros((1 << 16, 512), dtype=np.uint8)}, {}))
    assert len(data) > 32 << 20
    path.write_bytes(data)
    arrays.map_file(str(path))
    made = random.Random(1)
    for _ in range(3):
        place = made.randrange(16, len(data))
        data[place] ^= 4
        path.write_bytes(data)
        with pytest.raises(Damaged):
            arrays.map_file(str(path))
        data[place] ^= 4


def scramble_bytes(made: random.Random, array: np.ndarray) -> None:
    """Change some bytes of an array at random."""
    flat = array.reshape(-1).view(np.uint8)
    for _ in range(made.choice([1, 1, 40])):
        flat[made.randrange(len(flat))] = made.randrange(256)


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_values_with_a_matching_checksum_never_crash(
    copy: Path, indexed: Path, expected: object, kind: str
) -> None:
    """Only a bug or an attacker writes such files: the answer may be wrong, but there is one."""
    made = random.Random(kind)
    names = [file.name for file in files(indexed, kind)]
    group = files(indexed, kind)[0].parent.relative_to(indexed)
    whole = {name: (indexed / group / name).read_bytes() for name in names}
    of_arrays = {name: list(arrays.decode(data)[0]) for name, data in whole.items()}
    for name in names:
        for array in of_arrays[name]:
            for _ in range(2):
                shutil.rmtree(copy / group)
                shutil.copytree(indexed / group, copy / group)
                content, meta = arrays.decode(whole[name])
                content = {key: np.array(value) for key, value in content.items()}
                if not content[array].size:
                    continue
                scramble_bytes(made, content[array])
                (copy / group / name).write_bytes(arrays.encode(content, meta))
                with ctx.open(copy) as index:
                    for query in FEW:
                        for hit in index.search(query, overlay=COMMITTED).hits:
                            assert hit.text is not None, array
    for file in (copy / group).iterdir():
        file.unlink()
    assert ask(copy, FEW, FILTERS) == expected


def breaks_postings(content: dict[str, np.ndarray]) -> None:
    content["postings"][:] = 0x7F  # far more rows than there are


def breaks_lengths(content: dict[str, np.ndarray]) -> None:
    content["term_length"][:] = 254


def breaks_buckets(content: dict[str, np.ndarray]) -> None:
    content["term_bucket"][1:-1] = content["term_bucket"][1:-1][::-1]


def breaks_ends(content: dict[str, np.ndarray]) -> None:
    content["postings"][-1] |= 0x80


def breaks_kinds(content: dict[str, np.ndarray]) -> None:
    content["row_kind"][:] = 0x7E


@pytest.mark.parametrize(
    "breaks",
    [breaks_postings, breaks_lengths, breaks_buckets, breaks_ends, breaks_kinds],
    ids=lambda way: way.__name__,
)
def test_an_inconsistent_segment_is_rebuilt(
    copy: Path, expected: object, breaks: Callable[[dict[str, np.ndarray]], None]
) -> None:
    for file in files(copy, "segment"):
        content, meta = arrays.decode(file.read_bytes())
        content = {key: np.array(value) for key, value in content.items()}
        breaks(content)
        file.write_bytes(arrays.encode(content, meta))
    assert ask(copy, FEW, FILTERS) == expected
    assert ask(copy, FEW, FILTERS) == expected
    # The program too, and what builds on such a segment.
    for file in files(copy, "segment"):
        content, meta = arrays.decode(file.read_bytes())
        content = {key: np.array(value) for key, value in content.items()}
        breaks(content)
        file.write_bytes(arrays.encode(content, meta))
    repo = Repo(copy)
    for number in range(5):
        repo.commit({f"more{number}.py": f"def more_{number}():\n    return {number}\n"})
        run = program("index", "--silent", cwd=copy)
        assert run.status == 0, run.err
    assert program("search", "more", "--no-overlay", cwd=copy).status == 0
