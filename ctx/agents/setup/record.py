"""What set-up wrote where, so that it can be taken out again: a JSON file, and copies of what was there.

For a project it lies in the index directory, for a user in the state directory. A record that cannot be read
is taken for none: what was written is then recognised by what it is.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any, NamedTuple

from ctx.agents.setup import places
from ctx.agents.setup.jsonc import Unreadable
from ctx.agents.setup.pieces import Piece, Trace
from ctx.errors import CtxError

_VERSION = 1
_FILE, _LOCK, _COPIES = "record.json", "lock", "before"


class Written(NamedTuple):
    """A piece that was put in, for which agents, and what is needed to take it out exactly."""

    piece: Piece
    agents: list[str]
    trace: Trace


class FileRecord(NamedTuple):
    """One file. `made`: set-up made it. `before`: the digest of what was there first, `after`: of what was
    left. `intact`: nobody else has changed it in between."""

    made: bool
    before: str | None
    intact: bool
    after: str
    written: list[Written]


class Record:
    """The files that set-up has edited for one project or one user, and the directories that it made.

    What names a file outside of the work tree `inside` is not believed: a git directory may be anybody's.
    """

    def __init__(self, directory: str, inside: str | None = None) -> None:
        self.directory = directory
        self._inside = inside
        self.files: dict[str, FileRecord] = {}
        self.directories: list[str] = []
        self._load()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other set-ups out. Raises CtxError."""
        try:
            os.makedirs(self.directory, mode=0o700, exist_ok=True)
            handle = os.open(
                os.path.join(self.directory, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
            )
        except OSError as error:
            raise CtxError(
                f"what is set up cannot be recorded in {self.directory} ({error.strerror}), and nothing was "
                "changed; mend its permissions, then run the command again"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._load()
            yield
        finally:
            os.close(handle)

    def keep_copy(self, content: bytes) -> str:
        """Keep what a file was before, under its digest. Raises OSError."""
        name = digest(content)
        path = os.path.join(self.directory, _COPIES, name)
        if not os.path.exists(path):
            places.write(path, content)
            os.chmod(path, 0o600)
        return name

    def copy(self, name: str) -> bytes | None:
        """What was kept under a digest, None where that is not there or damaged."""
        try:
            content = places.read(os.path.join(self.directory, _COPIES, name))
        except Unreadable:
            return None
        return content if content is not None and digest(content) == name else None

    def components(self) -> dict[str, frozenset[str]]:
        """What each agent has been given so far."""
        found: dict[str, set[str]] = {}
        for file in self.files.values():
            for written in file.written:
                for agent in written.agents:
                    found.setdefault(agent, set()).add(written.piece.component)
        return {agent: frozenset(components) for agent, components in found.items()}

    def save(self) -> None:
        """Write the record; without files nothing of it is left. Raises OSError."""
        path = os.path.join(self.directory, _FILE)
        if not self.files and not self.directories:
            places.remove(path)
            self._drop_copies(set())
            places.remove(os.path.join(self.directory, _LOCK))
            above = os.path.dirname(self.directory)
            places.remove_empty([os.path.join(self.directory, _COPIES), self.directory, above])
            return
        content = {
            "version": _VERSION,
            "directories": self.directories,
            "files": {path: _file_out(file) for path, file in self.files.items()},
        }
        places.write(path, json.dumps(content, indent=1).encode())
        self._drop_copies({file.before for file in self.files.values() if file.before})

    def _drop_copies(self, used: set[str]) -> None:
        folder = os.path.join(self.directory, _COPIES)
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name not in used:
                places.remove(os.path.join(folder, name))

    def _load(self) -> None:
        self.files, self.directories = {}, []
        try:
            content = json.loads(places.read(os.path.join(self.directory, _FILE)) or b"null")
            if content["version"] == _VERSION:
                files = {str(path): _file_in(file) for path, file in content["files"].items()}
                made = [str(path) for path in content["directories"]]
                self.files = {path: file for path, file in files.items() if self._is_ours(path)}
                self.directories = list(filter(self._is_ours, made))
        except (Unreadable, ValueError, KeyError, TypeError, AttributeError):
            pass

    def _is_ours(self, path: str) -> bool:
        if self._inside is None:
            return os.path.isabs(path)
        # A directory may be on the way that has become a link since.
        return os.path.realpath(path) == path and places.is_inside(path, self._inside)


def digest(content: bytes) -> str:
    """The name of a content."""
    return blake2b(content, digest_size=16).hexdigest()


def _file_out(file: FileRecord) -> dict[str, Any]:
    pieces = [
        {**written.piece._asdict(), "agents": written.agents, "trace": written.trace}
        for written in file.written
    ]
    return {
        "made": file.made,
        "before": file.before,
        "intact": file.intact,
        "after": file.after,
        "pieces": pieces,
    }


def _file_in(file: dict[str, Any]) -> FileRecord:
    written = [
        Written(
            Piece(str(one["form"]), str(one["component"]), tuple(map(str, one["keys"])), one["value"]),
            [str(agent) for agent in one["agents"]],
            dict(one["trace"]),
        )
        for one in file["pieces"]
    ]
    before = file["before"]
    first = None if before is None else str(before)
    return FileRecord(bool(file["made"]), first, bool(file["intact"]), str(file["after"]), written)
