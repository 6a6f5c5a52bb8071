"""The files of a work tree, read without git-ctx, and the answers of an index made from scratch.

The tree of a work tree is written by a real `git add --all` on a copy of its index. Its answers come from a
repository of their own that reads the same objects, and whose index is removed before every tree.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

from repositories import Repo

import ctx
from ctx.text.contents import MAX_SIZE
from ctx.types import COMMITTED, Answer

GITLINK = b"160000"


class Question(NamedTuple):
    """A question: words, pathspecs, languages."""

    words: str
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


class Entry(NamedTuple):
    """A file of a tree."""

    mode: bytes
    oid: str


class Reference:
    """A repository that reads all objects of another one, and indexes each tree from scratch."""

    def __init__(self, repo: Repo, scratch: Path) -> None:
        self._scratch = scratch
        self.repo = Repo(scratch / "reference")
        kind = repo.git("rev-parse", "--show-object-format").decode()
        Repo(scratch).git("init", "--quiet", "--bare", f"--object-format={kind}", "reference")
        # The objects are moved away from their index: through alternates it would be used here too.
        objects, apart = repo.path / ".git" / "objects", scratch / "apart" / "objects"
        apart.parent.mkdir()
        objects.rename(apart)
        objects.symlink_to(apart)
        (self.repo.path / "objects" / "info" / "alternates").write_text(f"{apart}\n")

    def work_tree(self, place: Repo) -> str:
        """The tree that `git add --all` would write in a work tree, but for the exceptions of docs/design.md.

        Files above 1 MB count as gone where git would read them again, and submodules stay as they are.
        """
        index = self._copy(place)
        before = entries(self._git(place, "ls-files", "-s", "-z"))
        paths = self._git(place, "status", "--porcelain", "-z", "--no-renames", "-uall")
        changed = [line[3:] for line in paths.split(b"\0") if line[1:2].strip()]
        top = os.fsencode(place.path)
        large = [path for path in changed if size(os.path.join(top, path)) > MAX_SIZE]
        self._git(place, "add", "--all", "--sparse", "--ignore-errors", check=False)
        after = entries(self._git(place, "ls-files", "-s", "-z"))
        gone = [path for path, entry in after.items() if entry.mode == GITLINK and path not in before]
        gone += [path for path in large if path in after]
        self._git(place, "update-index", "-z", "--force-remove", "--stdin", stdin=b"\0".join(gone))
        for path, entry in before.items():
            if entry.mode == GITLINK and after.get(path) != entry:
                info = b"160000," + entry.oid.encode() + b"," + path
                self._git(place, "update-index", "--add", "--replace", "--cacheinfo", info)
        tree = self._git(place, "write-tree", "--missing-ok").decode().strip()
        index.unlink()
        return tree

    def staged(self, place: Repo) -> str | None:
        """Return the tree of the index; None if there are conflicts."""
        index = self._copy(place)
        tree = self._git(place, "write-tree", "--missing-ok", check=False).decode().strip()
        index.unlink()
        return tree or None

    def side(self, place: Repo, stage: bytes) -> str:
        """Return the tree of the index with one stage of each path in conflict, if the path has it."""
        index = self._copy(place)
        lines = self._git(place, "ls-files", "--unmerged", "-z").split(b"\0")[:-1]
        sides = [(*line.partition(b"\t")[0].split(), line.partition(b"\t")[2]) for line in lines]
        self._git(
            place, "rm", "--cached", "--quiet", "-f", "--", *(b":(literal)" + side[3] for side in sides)
        )
        for mode, oid, number, path in sides:
            if number == stage:
                self._git(place, "update-index", "--add", "--cacheinfo", b",".join((mode, oid, path)))
        tree = self._git(place, "write-tree", "--missing-ok").decode().strip()
        index.unlink()
        return tree

    def files(self, tree: str) -> dict[bytes, Entry]:
        """Return every path of a tree."""
        return entries(self.repo.git("ls-tree", "-r", "-z", tree), b" ")

    def forget(self) -> None:
        """Remove the index."""
        shutil.rmtree(self.repo.path / "ctx", ignore_errors=True)

    def answers(self, tree: str, questions: list[Question], limit: int) -> list[Answer]:
        """Return the answers about a tree from a new index."""
        self.forget()
        with ctx.open(self.repo.path) as index:
            report = index.index(tree, jobs=1)
            assert report.processed_new_clusters == report.total_clusters, "this index is not from scratch"
            return [
                index.search(
                    question.words,
                    paths=question.paths,
                    languages=question.languages,
                    limit=limit,
                    revision=tree,
                    overlay=COMMITTED,
                )
                for question in questions
            ]

    def _copy(self, place: Repo) -> Path:
        """Copy the index of a work tree with its time, which git compares with those of the files."""
        index = Path(os.fsdecode(place.git("rev-parse", "--git-path", "index")))
        copy = self._scratch / "index-copy"
        shutil.copy2(place.path / index, copy)
        return copy

    def _git(
        self, place: Repo, *arguments: str | bytes, stdin: bytes | None = None, check: bool = True
    ) -> bytes:
        own = {
            "GIT_INDEX_FILE": str(self._scratch / "index-copy"),
            "GIT_OBJECT_DIRECTORY": str(self.repo.path / "objects"),
            "GIT_OPTIONAL_LOCKS": "0",
        }
        done = subprocess.run(
            ["git", "-c", "core.splitIndex=false", *arguments],
            cwd=place.path,
            input=stdin or b"",
            capture_output=True,
            env={**os.environ, **own},
        )
        if check and done.returncode:
            raise AssertionError(f"git {arguments!r}: {done.stderr.decode()}")
        return done.stdout


def entries(listing: bytes, before_path: bytes = b"") -> dict[bytes, Entry]:
    """Parse output of `git ls-files -s -z` or `git ls-tree -r -z` by path; of conflicts the last stage."""
    found = {}
    for line in filter(None, listing.split(b"\0")):
        words, _, path = line.partition(b"\t")
        fields = words.split()
        oid = fields[2] if before_path else fields[1]
        found[path] = Entry(fields[0], oid.decode())
    return found


def size(path: bytes) -> int:
    """Return the size of a regular file; 0 for everything else."""
    try:
        status = os.lstat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
