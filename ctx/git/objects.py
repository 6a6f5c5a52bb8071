"""Reading objects by id or by name, with two implementations of one interface.

`CatFileObjects` uses one long-lived `git cat-file`, which reads every repository that git reads (SHA-256,
reftable), resolves names as git does, and starts in two milliseconds, while importing pygit2 takes a tenth of
a second; in bulk the two cost the same. `Libgit2Objects` is for partial clones: there git fetches a missing
object or dies, whereas libgit2 reports it as missing.

Neither fetches or follows replace refs. An object that is missing or damaged is a KeyError.
"""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, NamedTuple

from ctx.git import process
from ctx.git.location import Location

WINDOW = 32
"""Number of objects requested before the first is read: bounds memory, and fits into any pipe."""

_KINDS = frozenset((b"blob", b"tree", b"commit", b"tag"))
_KINDS_BY_NUMBER = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
"""Kinds of objects by their numbers in libgit2."""
EMPTY_TREES = {
    "sha1": bytes.fromhex("4b825dc642cb6eb9a060e54bf8d69288fbee4904"),
    "sha256": bytes.fromhex("6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"),
}
"""Ids of the empty tree, which git knows in every repository, stored or not."""
_of_parents: list[subprocess.Popen[bytes]] = []
"""Processes inherited by a forked child, kept untouched: they belong to the parent."""


class Object(NamedTuple):
    """One object: its raw id, kind (`blob`, `tree`, `commit`, `tag`), size in bytes, and content.

    The content is empty if only the header was requested.
    """

    oid: bytes
    kind: str
    size: int
    data: bytes = b""


class Objects(ABC):
    """Source of objects."""

    @abstractmethod
    def read_many(self, oids: Sequence[bytes]) -> Iterator[Object | None]:
        """Yield the objects in the order given, None for a missing one; at most WINDOW are held."""

    @abstractmethod
    def headers(self, oids: Sequence[bytes]) -> list[Object | None]:
        """Return kind and size of each, None for a missing one; no content is unpacked."""

    @abstractmethod
    def find(self, name: bytes) -> Object | None:
        """Return the object that a revision names, by the rules of gitrevisions(7)."""

    @abstractmethod
    def find_header(self, name: bytes) -> Object | None:
        """Return the header of the object that a revision names, without its content, which may be large."""

    @abstractmethod
    def absent(self, oids: Sequence[bytes]) -> list[bytes]:
        """Return those that are missing."""

    @abstractmethod
    def close(self) -> None:
        """End the processes started; a later call starts them again."""

    def read(self, oid: bytes) -> Object:
        """Return the object with this raw id. Raises KeyError."""
        found = next(self.read_many([oid]))
        if found is None:
            raise KeyError(oid)
        return found


class CatFileObjects(Objects):
    """Objects from `git cat-file --batch`, and their headers from `--batch-check`."""

    def __init__(self, location: Location) -> None:
        self._contents = _Batch(location, "--batch")
        self._headers = _Batch(location, "--batch-check")

    def read_many(self, oids: Sequence[bytes]) -> Iterator[Object | None]:
        return self._contents.ask_for(oids)

    def headers(self, oids: Sequence[bytes]) -> list[Object | None]:
        return list(self._headers.ask_for(oids))

    def find(self, name: bytes) -> Object | None:
        return self._contents.ask_by_name(name)

    def find_header(self, name: bytes) -> Object | None:
        return self._headers.ask_by_name(name)

    def absent(self, oids: Sequence[bytes]) -> list[bytes]:
        return [oid for oid, found in zip(oids, self.headers(oids), strict=True) if found is None]

    def close(self) -> None:
        self._contents.close()
        self._headers.close()


class _Batch:
    """One `git cat-file` process that answers each line with a header, and with the content if `--batch`.

    It is started by the first request and ends with this object. A forked child starts its own. If git dies
    on an object (it does on some damaged ones), that object is missing and the rest is requested again.
    """

    __slots__ = ("__weakref__", "_finish", "_location", "_lock", "_mode", "_owner", "_process")

    def __init__(self, location: Location, mode: str) -> None:
        self._location = location
        self._mode = mode
        self._lock = threading.Lock()
        self._owner = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._finish: Callable[[], object] = int

    def ask_by_name(self, name: bytes) -> Object | None:
        """Return the answer for one name."""
        return self._ask([name])[0] if name and b"\n" not in name and b"\0" not in name else None

    def ask_for(self, oids: Sequence[bytes]) -> Iterator[Object | None]:
        """Yield one answer for each object."""
        for start in range(0, len(oids), WINDOW):
            yield from self._ask([oid.hex().encode() for oid in oids[start : start + WINDOW]])

    def _ask(self, names: Sequence[bytes]) -> list[Object | None]:
        """Return one answer for each name; the names must fit into a pipe (16 kB on some systems)."""
        answers: list[Object | None] = []
        with self._lock:
            while len(answers) < len(names):
                rest = names[len(answers) :]
                stdin, stdout = self._pipes()
                try:
                    stdin.write(b"\n".join(rest) + b"\n")
                    stdin.flush()
                    for _ in rest:
                        answers.append(self._answer(stdout))
                except (EOFError, BrokenPipeError):
                    self._end()
                    answers.append(None)
        return answers

    def close(self) -> None:
        with self._lock:
            self._end()

    def _answer(self, stdout: IO[bytes]) -> Object | None:
        line = stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        words = line.rsplit(maxsplit=2)
        if len(words) != 3 or words[1] not in _KINDS or not words[2].isdigit():
            return None  # "<name> missing", "<name> ambiguous"
        header = Object(bytes.fromhex(words[0].decode()), words[1].decode(), int(words[2]))
        if self._mode == "--batch-check":
            return header
        data = stdout.read(header.size + 1)
        if len(data) != header.size + 1:
            raise EOFError
        return header._replace(data=data[:-1])

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is not None and self._owner != os.getpid():
            _of_parents.append(self._process)
            self._process = None
        if self._process is None:
            location = self._location
            command = ["cat-file", self._mode]
            self._process, _ = process.start(location.directory, command, location.variables, stdin=True)
            self._owner = os.getpid()
            self._finish = weakref.finalize(self, _end, self._process, self._owner)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        return stdin, stdout

    def _end(self) -> None:
        self._finish()
        self._process = None


def _end(running: subprocess.Popen[bytes], owner: int) -> None:
    if owner != os.getpid():
        _of_parents.append(running)
    else:
        process.end(running)


class Libgit2Objects(Objects):
    """Objects from libgit2, which reads SHA-1 object directories and their alternates."""

    def __init__(self, location: Location, alternates: Sequence[str] = ()) -> None:
        """Initialize; `alternates` are further object directories: libgit2 does not find all of git's."""
        import pygit2

        self._pygit2: Any = pygit2
        self._location = location
        self._odb = pygit2.Odb(location.objects)
        for alternate in filter(None, [location.scratch, *alternates]):
            self._odb.add_disk_alternate(alternate)

    def _read(self, oid: bytes) -> Object | None:
        try:
            kind, data = self._odb.read(self._pygit2.Oid(raw=oid))
        except (KeyError, self._pygit2.GitError, ValueError):  # ValueError: raised for a broken object
            return Object(oid, "tree", 0) if oid == EMPTY_TREES["sha1"] else None
        return Object(oid, _KINDS_BY_NUMBER[kind], len(data), data)

    def read_many(self, oids: Sequence[bytes]) -> Iterator[Object | None]:
        return map(self._read, oids)

    def headers(self, oids: Sequence[bytes]) -> list[Object | None]:
        return list(map(self._header, oids))

    def _header(self, oid: bytes) -> Object | None:
        # The last pygit2 for Python 3.10 does not have it.
        if hasattr(self._odb, "read_header"):
            try:
                kind, size = self._odb.read_header(self._pygit2.Oid(raw=oid))
                return Object(oid, _KINDS_BY_NUMBER[kind], size)
            except (KeyError, self._pygit2.GitError, ValueError):
                pass  # it is missing, damaged, or the empty tree
        found = self._read(oid)
        return found and found._replace(data=b"")

    def absent(self, oids: Sequence[bytes]) -> list[bytes]:
        return [oid for oid in oids if self._pygit2.Oid(raw=oid) not in self._odb]

    def find(self, name: bytes) -> Object | None:
        oid = self._resolved(name)
        return None if oid is None else self._read(oid)

    def find_header(self, name: bytes) -> Object | None:
        oid = self._resolved(name)
        return None if oid is None else self._header(oid)

    def _resolved(self, name: bytes) -> bytes | None:
        done = self._location.run("rev-parse", "--quiet", "--verify", "--end-of-options", name)
        return None if done.returncode else bytes.fromhex(done.stdout.decode().strip())

    def close(self) -> None:
        pass
