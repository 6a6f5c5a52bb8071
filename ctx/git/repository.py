"""One repository: its location, names, objects and settings.

This is the interface to git for the rest of git-ctx. Values are read at each call except the settings, which
are read once. Nothing is written and nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b

from ctx.errors import CtxError, Damaged, NotARepository, NothingCommitted, UnknownRevision
from ctx.git import process
from ctx.git.alternates import alternates
from ctx.git.formats import (
    DIRECTORY_MODE,
    CommitInfo,
    TreeEntry,
    commit_tree,
    parse_commit,
    parse_tag,
    parse_tree,
)
from ctx.git.heads import heads
from ctx.git.location import ALTERNATES, Location, locate
from ctx.git.objects import EMPTY_TREES, CatFileObjects, Libgit2Objects, Object, Objects
from ctx.git.permissions import Permissions
from ctx.git.resolution import HEAD, Resolution
from ctx.git.settings import Settings
from ctx.git.unknown import why_unknown

_ID_SIZE = {"sha1": 20, "sha256": 32}

_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


def open_repository(path: str | os.PathLike[str] = ".") -> Repository:
    """Open the repository that `path` belongs to, found as git finds it.

    Raises NotARepository; if git refuses to trust the owner (`safe.directory`), the message is git's.
    """
    directory = os.path.abspath(path)
    if os.path.isfile(directory):
        directory = os.path.dirname(directory)
    if not os.path.isdir(directory):
        raise NotARepository(f"there is no directory '{path}'; pass one inside a repository with -C")
    return Repository(locate(directory))


class Repository:
    """An open repository. Use it in a `with` block, or call `close()`, to end its git processes."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.git_dir = location.git_dir
        self.common_dir = location.common_dir
        self.work_tree = location.work_tree
        self.is_bare = location.is_bare
        self.object_format = location.object_format
        self.prefix = location.prefix
        self.id_size = _ID_SIZE[location.object_format]
        self.empty_tree = EMPTY_TREES[location.object_format]

    def __enter__(self) -> Repository:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the git processes started for reading; the repository can still be used."""
        opened = self.__dict__.get("objects")
        if opened is not None:
            opened.close()

    def git(self, *arguments: str | bytes, stdin: bytes | None = None) -> bytes:
        """Return the standard output of a git command that reads. Raises GitFailed with git's message."""
        return process.checked(self.location.run(*arguments, stdin=stdin))

    def run(self, *arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
        """Run a git command that reads and return the completed process, whatever its status."""
        return self.location.run(*arguments)

    # -- objects

    @cached_property
    def objects(self) -> Objects:
        """Reader of this repository's objects."""
        if self.object_format == "sha1" and self.settings.is_partial_clone:
            return Libgit2Objects(self.location, self.alternates)
        return CatFileObjects(self.location)

    @cached_property
    def alternates(self) -> list[str]:
        """Alternate object directories of this repository, see gitrepository-layout(5)."""
        return alternates(self.location.objects, self.location.variable(ALTERNATES))

    def packs(self) -> bytes:
        """Return a digest of the names of all packs: objects that come in a pack change it."""
        digest = blake2b(digest_size=16)
        for folder in (self.location.objects, *self.alternates):
            try:
                names = sorted(
                    name for name in os.listdir(os.path.join(folder, "pack")) if name.endswith(".idx")
                )
            except OSError:
                names = []
            digest.update("\0".join([folder, *names, ""]).encode("utf-8", "surrogateescape"))
        return digest.digest()

    def any_loose(self, oids: Sequence[bytes]) -> bool:
        """Return True if one of these objects is loose."""
        folders = (self.location.objects, *self.alternates)
        return any(
            os.path.exists(os.path.join(folder, name[:2], name[2:]))
            for name in map(bytes.hex, oids)
            for folder in folders
        )

    def tree_entries(self, tree: bytes) -> list[TreeEntry]:
        """Return the entries of one tree, one level deep, in git's order. Raises KeyError, Damaged."""
        found = self.objects.read(tree)
        if found.kind != "tree":
            raise Damaged(f"object {tree.hex()} is a {found.kind} where a tree should be")
        return parse_tree(found.data, self.id_size)

    def trees_entries(self, trees: Sequence[bytes]) -> dict[bytes, list[TreeEntry]]:
        """Return the entries of many trees, read at once; missing trees are left out. Raises Damaged."""
        found = zip(trees, self.objects.read_many(trees), strict=True)
        return {
            tree: parse_tree(read.data, self.id_size)
            for tree, read in found
            if read is not None and read.kind == "tree"
        }

    def tree_levels(self, tree: bytes) -> Iterator[tuple[Mapping[bytes, int], dict[bytes, list[TreeEntry]]]]:
        """Yield the trees of each level of a tree: how often each occurs, and the entries of present ones.

        Equal trees of a level are read once. Raises Damaged.
        """
        level: Mapping[bytes, int] = {tree: 1}
        while level:
            found = self.trees_entries(list(level))
            yield level, found
            below: Counter[bytes] = Counter()
            for oid, entries in found.items():
                for entry in entries:
                    if entry.mode == DIRECTORY_MODE:
                        below[entry.oid] += level[oid]
            level = below

    def read_blob(self, oid: bytes) -> bytes:
        """Return the content of a blob.

        Raises KeyError if it is not in this repository; it is never fetched.
        """
        found = self.objects.read(oid)
        if found.kind != "blob":
            raise KeyError(oid)
        return found.data

    def read_blobs(self, oids: Sequence[bytes]) -> Iterator[bytes | None]:
        """Yield the contents of many blobs in the order given, None for a missing one.

        Twice as fast as `read_blob` in a loop; a few dozen contents are held at a time.
        """
        for found in self.objects.read_many(oids):
            yield found.data if found is not None and found.kind == "blob" else None

    def read_small_blob(self, oid: bytes, most: int) -> bytes:
        """Return the content of a blob of at most `most` bytes.

        Raises KeyError, and CtxError for a larger one.
        """
        size = self.blob_size(oid)
        if size > most:
            raise CtxError(
                f"the blob {oid.hex()[:12]} has {size:,} bytes, and at most {most:,} are shown: "
                f"`git cat-file blob {oid.hex()}` prints it"
            )
        return self.read_blob(oid)

    def blob_size(self, oid: bytes) -> int:
        """Return the size of a blob in bytes, without unpacking it. Raises KeyError."""
        size = self.blob_sizes([oid])[0]
        if size is None:
            raise KeyError(oid)
        return size

    def blob_sizes(self, oids: Sequence[bytes]) -> list[int | None]:
        """Return the sizes of many blobs in bytes, None for a missing one."""
        return [
            found.size if found is not None and found.kind == "blob" else None
            for found in self.objects.headers(oids)
        ]

    def commit_info(self, oid: bytes) -> CommitInfo:
        """Return the contents of a commit. Raises KeyError, Damaged."""
        found = self.objects.read(oid)
        if found.kind != "commit":
            raise KeyError(oid)
        return parse_commit(oid, found.data)

    # -- names

    def resolve_tree(self, revision: str) -> Resolution:
        """Resolve a revision to a tree, see gitrevisions(7): a commit, a tag of one, or a tree.

        Raises UnknownRevision, and NothingCommitted for a HEAD without a commit.
        """
        # Only these can name a file, which may not fit in memory; others do not need another process.
        may_be_file = ":" in revision or set(revision) <= _HEXADECIMAL
        header = self.objects.find_header(os.fsencode(revision)) if may_be_file else None
        if header is not None and header.kind == "blob":
            raise UnknownRevision(f"'{revision}' names a file; a commit or a directory is needed")
        found = self._find(revision)
        if found is None:
            if revision in ("HEAD", "@"):
                raise NothingCommitted("HEAD has no commit yet; make one, or name a revision with --revision")
            raise UnknownRevision(why_unknown(self.location, revision))
        if found.kind == "commit":
            return Resolution(commit_tree(found.data), found.oid, revision)
        if found.kind == "tree":
            return Resolution(found.oid, None, revision)
        raise UnknownRevision(f"'{revision}' names a file; a commit or a directory is needed")

    def commit_of(self, revision: str) -> bytes | None:
        """Return the commit that a revision names, or None."""
        found = self._find(revision)
        return found.oid if found is not None and found.kind == "commit" else None

    def head(self) -> tuple[str | None, bytes | None]:
        """Return the full name of HEAD's branch (None: detached) and its commit (None: no commit yet)."""
        return self._head_name(), self.commit_of("HEAD")

    def checked_out(self) -> Resolution | None:
        """Return HEAD with the short name of its branch, or "HEAD" if detached; None without a commit."""
        found = self._find("HEAD")
        if found is None or found.kind != "commit":
            return None
        return Resolution(commit_tree(found.data), found.oid, self.current_branch() or "HEAD", HEAD)

    def current_branch(self) -> str | None:
        """Return the short name of HEAD's branch, even without a commit; None if HEAD is detached."""
        name = self._head_name()
        return name.removeprefix("refs/heads/") if name else None

    def default_branch(self) -> str | None:
        """Return the full name of the default branch, if it has a commit.

        The remote's HEAD (as the last clone or `git remote set-head` wrote it), `init.defaultBranch`, main,
        master, in this order.
        """
        for remote in self.remotes():
            done = self.run("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
            name = os.fsdecode(done.stdout).rstrip("\n")
            if name and self.commit_of(name):
                return name
        for branch in (self.settings.get("init.defaultBranch"), "main", "master"):
            if branch and self.commit_of(f"refs/heads/{branch}"):
                return f"refs/heads/{branch}"
        return None

    def references(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every reference that leads to a commit, with that commit.

        Tags are peeled; broken references are left out.
        """
        listing = self.git("for-each-ref", "--format=%(objectname) %(refname)")
        names: dict[bytes, list[bytes]] = {}
        for line in listing.splitlines():
            oid, _, name = line.partition(b" ")
            names.setdefault(bytes.fromhex(oid.decode()), []).append(name)
        for oid, header in zip(names, self.objects.headers(list(names)), strict=True):
            commit = oid if header is not None and header.kind == "commit" else None
            if header is not None and header.kind == "tag":
                found = self._peel(self.objects.read(oid))
                commit = found.oid if found is not None and found.kind == "commit" else None
            if commit is not None:
                for name in names[oid]:
                    yield name, commit

    def tips(self) -> set[bytes]:
        """Return the commits of branches and of the HEADs of work trees, without reading them."""
        listing = self.git("for-each-ref", "--format=%(objectname)", "refs/heads").split()
        return {bytes.fromhex(oid.decode()) for oid in listing} | {
            head.commit for head in heads(self.location)
        }

    def ancestors(self, oid: bytes, limit: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield a commit and its ancestors by date, at most `limit`, each with its tree.

        Stops at a shallow boundary.
        """
        done = self.run("rev-list", f"--max-count={limit}", "--format=%T", oid.hex(), "--")
        lines = done.stdout.splitlines()
        for commit, tree in zip(lines[::2], lines[1::2], strict=False):
            yield bytes.fromhex(commit.removeprefix(b"commit ").decode()), bytes.fromhex(tree.decode())

    def _find(self, revision: str) -> Object | None:
        found = self.objects.find(os.fsencode(revision))
        return found and self._peel(found)

    def _peel(self, found: Object) -> Object | None:
        """Peel a tag; None if its target is missing."""
        try:
            while found.kind == "tag":
                found = self.objects.read(parse_tag(found.data))
        except KeyError:
            return None
        return found

    def _head_name(self) -> str | None:
        storage = self.location.variable("GIT_REFERENCE_BACKEND") or self.settings.get(
            "extensions.refStorage"
        )
        if storage in (None, "files"):
            # With loose references HEAD is this file (gitrepository-layout(5)); leave a link to git.
            path = os.path.join(self.git_dir, "HEAD")
            if not os.path.islink(path):
                with open(path, "rb") as file:
                    content = file.read()
                if content.startswith(b"ref:"):
                    return os.fsdecode(content[4:].strip())
                return None
        done = self.run("symbolic-ref", "--quiet", "HEAD")
        return os.fsdecode(done.stdout).rstrip("\n") if done.returncode == 0 else None

    def remotes(self) -> list[str]:
        """Return the remotes, the one that this work tree most likely follows first."""
        branch = self.current_branch()
        wanted = (
            self.settings.get(f"branch.{branch}.remote") if branch else None,
            self.settings.get("checkout.defaultRemote"),
            "origin",
        )
        known = self.settings.remotes
        first = [name for name in wanted if name in known]
        return list(dict.fromkeys([name for name in first if name] + known))

    # -- settings

    @cached_property
    def settings(self) -> Settings:
        """Git's settings for this repository, including the user's and `-c`."""
        return Settings.parse(self.git("config", "--null", "--list"))

    @property
    def permissions(self) -> Permissions:
        """Permissions of new files in this repository."""
        return Permissions.parse(self.settings.get("core.sharedRepository"))
