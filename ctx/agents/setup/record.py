"""Record of the edits of set-up, for their removal: a JSON file, and copies of the original files.

The record of a project is in the index directory, that of a user in the state directory. An unreadable record
counts as missing; pieces are then recognised by their content.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

from ctx.agents.setup import config_files
from ctx.agents.setup.jsonc import Unreadable
from ctx.agents.setup.pieces import Piece, Trace
from ctx.errors import CtxError, Damaged, Decoding

_VERSION = 1
_FILE, _LOCK, _COPIES = "record.json", "lock", "before"


class Written(NamedTuple):
    """A piece that was put in, its agents, and the data for its exact removal."""

    piece: Piece
    agents: list[str]
    trace: Trace


class FileRecord(NamedTuple):
    """One file that set-up created (`made`) or edited.

    `before` and `after` are digests of its original content and of that written last. `intact` is True if
    no other program has changed it in between.
    """

    made: bool
    before: str | None
    intact: bool
    after: str
    pieces: list[Written]


class Record:
    """Files that set-up has edited for one project or one user, and directories that it created.

    Entries for files outside the work tree `inside` are ignored: a git directory may come from someone else.
    """

    def __init__(self, directory: str, inside: str | None = None) -> None:
        self.directory = directory
        self._inside = inside
        self.files: dict[str, FileRecord] = {}
        self.directories: list[str] = []
        self._load()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock that excludes other set-ups, and reload the record. Raises CtxError."""
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            handle = os.open(
                os.path.join(self.directory, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise CtxError(
                f"the set-up cannot be recorded in {self.directory} ({error.strerror}), and nothing was "
                "changed; fix its permissions, then run the command again"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._load()
            yield
        finally:
            os.close(handle)

    def keep_copy(self, content: bytes) -> str:
        """Store the original content of a file, and return its digest. Raises OSError."""
        name = digest(content)
        path = os.path.join(self.directory, _COPIES, name)
        if not os.path.exists(path):
            config_files.write(path, content)
            os.chmod(path, 0o600)
        return name

    def copy(self, name: str | None) -> bytes | None:
        """Return the content stored under a digest, None if missing or damaged."""
        if name is None:
            return None
        try:
            content = config_files.read(os.path.join(self.directory, _COPIES, name))
        except Unreadable:
            return None
        return content if content is not None and digest(content) == name else None

    def components(self) -> dict[str, frozenset[str]]:
        """Return the recorded components of each agent."""
        found: dict[str, set[str]] = {}
        for file in self.files.values():
            for one in file.pieces:
                for agent in one.agents:
                    found.setdefault(agent, set()).add(one.piece.component)
        return {agent: frozenset(components) for agent, components in found.items()}

    def save(self) -> None:
        """Write the record, or remove it if it has no entries. Raises OSError."""
        path = os.path.join(self.directory, _FILE)
        if not self.files and not self.directories:
            config_files.remove(path)
            self._drop_copies(set())
            config_files.remove(os.path.join(self.directory, _LOCK))
            above = os.path.dirname(self.directory)
            config_files.remove_empty([os.path.join(self.directory, _COPIES), self.directory, above])
            return
        content = {
            "version": _VERSION,
            "directories": self.directories,
            "files": {path: _file_out(file) for path, file in self.files.items()},
        }
        config_files.write(path, json.dumps(content, indent=1).encode())
        self._drop_copies({file.before for file in self.files.values() if file.before})

    def _drop_copies(self, used: set[str]) -> None:
        folder = os.path.join(self.directory, _COPIES)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name not in used:
                config_files.remove(os.path.join(folder, name))

    def _load(self) -> None:
        self.files, self.directories = {}, []
        try:
            written = config_files.read(os.path.join(self.directory, _FILE)) or b"null"
            with Decoding("the record of what is set up"):
                content = json.loads(written)
                if content["version"] == _VERSION:
                    files = {str(path): _file_in(file) for path, file in content["files"].items()}
                    made = [str(path) for path in content["directories"]]
                    self.files = {path: file for path, file in files.items() if self._is_ours(path)}
                    self.directories = list(filter(self._is_ours, made))
        except (Unreadable, Damaged):
            pass

    def _is_ours(self, path: str) -> bool:
        if self._inside is None:
            return os.path.isabs(path)
        # A parent directory may have become a link since.
        return os.path.realpath(path) == path and config_files.is_inside(path, self._inside)


def digest(content: bytes) -> str:
    """Return the digest that names a content (BLAKE2b, 128 bits, hexadecimal)."""
    return blake2b(content, digest_size=16).hexdigest()


def _file_out(file: FileRecord) -> dict[str, Any]:
    pieces = [{**one.piece._asdict(), "agents": one.agents, "trace": one.trace} for one in file.pieces]
    return {**file._asdict(), "pieces": pieces}


def _file_in(file: dict[str, Any]) -> FileRecord:
    pieces = [
        Written(
            Piece(str(one["form"]), str(one["component"]), tuple(map(str, one["keys"])), one["value"]),
            [str(agent) for agent in one["agents"]],
            dict(one["trace"]),
        )
        for one in file["pieces"]
    ]
    before = None if file["before"] is None else str(file["before"])
    return FileRecord(bool(file["made"]), before, bool(file["intact"]), str(file["after"]), pieces)
