"""The object store: named, immutable payloads in files that are written atomically.

All files are below `<git common dir>/ctx/`. Reading takes no lock. A damaged or foreign file counts as
missing. The stores of alternates (repositories that this one borrows objects from) are read too, but never
changed. docs/format.md describes the layout of the directory and the files.
"""

from __future__ import annotations

import errno
import os
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b

import zstandard

from ctx.errors import Damaged, Decoding, StoreFull, StoreUnusable
from ctx.git.permissions import UMASK, Permissions
from ctx.storage.regular_files import atomic_write, discard_file, open_regular, read_regular, without_waiting

LAYOUT = 1
DIRECTORY = "ctx"
"""Name of the store directory within the common git directory."""
MAX_PAYLOAD = 64 << 20

_HEAD = struct.Struct("<4sBBHI16s")
_MAGIC = b"CTXO"
_RAW, _ZSTD = 0, 1
_NAME_LETTERS = (40, 64)
_WORTH_COMPRESSING = 200
_LEVEL = 9
ABANDONED = 3600.0
"""Seconds after which a temporary file counts as abandoned."""
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This directory holds the index of git-ctx, which can be rebuilt at any time.\n"
)


def encode_object(name: str, payload: bytes, *, level: int = _LEVEL) -> bytes:
    """Return the file of a payload: header, digest of name and payload, payload as zstd (RFC 8878) or raw.

    The payload is the same on every machine; versions of zstd may differ in the bytes of a file.
    """
    if len(payload) > MAX_PAYLOAD:
        raise StoreUnusable(
            f"an object of the index has {len(payload):,} bytes, {MAX_PAYLOAD:,} are the most: "
            "leave some of its files out with `.ctxignore`"
        )
    digest = _digest(name, payload)
    coding, body = _RAW, payload
    if len(payload) >= _WORTH_COMPRESSING:
        packed = zstandard.ZstdCompressor(level=level, write_content_size=True).compress(payload)
        if len(packed) < len(payload):
            coding, body = _ZSTD, packed
    return _HEAD.pack(_MAGIC, LAYOUT, coding, 0, len(payload), digest) + body


@Decoding("an object", zstandard.ZstdError)
def decode_object(name: str, data: bytes, most: int = MAX_PAYLOAD) -> bytes:
    """Return the payload of a file that was written under this name.

    Raises `Damaged`, also for a file of another name; never decompresses more than `most` bytes.
    """
    magic, layout, coding, _, size, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC or layout != LAYOUT or size > most or coding not in (_RAW, _ZSTD):
        raise Damaged("an object is not of this version")
    payload = data[_HEAD.size :]
    if coding == _ZSTD:
        # zstd allocates the size that the frame states.
        if zstandard.frame_content_size(payload) != size:
            raise Damaged("the size of an object does not match its header")
        payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=size)
    if len(payload) != size or _digest(name, payload) != digest:
        raise Damaged("an object does not match its digest")
    return payload


def _digest(name: str, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=16, key=name.encode()).digest()


class Store:
    """The store of one repository. Nothing is created on disk before the first write."""

    def __init__(
        self, common_dir: str, alternates: Sequence[str] = (), permissions: Permissions = UMASK
    ) -> None:
        """Initialize; `alternates` are the common directories of repositories whose stores are read too."""
        self.permissions = permissions
        self.path = os.path.join(common_dir, DIRECTORY)
        stores = [os.path.join(path, DIRECTORY) for path in alternates]
        self.alternates = [path for path in stores if _layout(path) == str(LAYOUT)]
        self.may_use_memory = False
        """True if payloads that cannot be written are kept in memory, so that a search still succeeds."""
        self._memory: dict[str, bytes] = {}

    def read(self, area: str, name: str) -> bytes | None:
        """Return a payload, or None if it is missing or damaged."""
        if self._memory and (kept := self._memory.get(self.file(area, name))) is not None:
            return kept
        for path in self._files(area, name):
            try:
                with open_regular(path) as file:
                    return decode_object(name, file.read(_HEAD.size + MAX_PAYLOAD))
            except (OSError, Damaged):
                continue
        return None

    def has(self, area: str, name: str) -> bool:
        """Return True if there is a file of that name; its content is checked on reading."""
        return self.file(area, name) in self._memory or self.find(area, name) is not None

    def find(self, area: str, name: str) -> str | None:
        """Return the path of the file of that name, here or in an alternate, or None."""
        return next(filter(os.path.exists, self._files(area, name)), None)

    def owns(self, area: str, name: str) -> bool:
        """Return True if there is a file of that name in this store itself."""
        path = self.file(area, name)
        return path in self._memory or os.path.exists(path)

    def write(self, area: str, name: str, payload: bytes) -> None:
        """Store a payload under its name, atomically. Raises `StoreFull` and `StoreUnusable`."""
        path = self.file(area, name)
        if self._memory:
            # An object on disk must not refer to one that is only in memory.
            self._memory[path] = payload
            return
        try:
            self.write_file(path, encode_object(name, payload))
        except StoreUnusable:
            if not self.may_use_memory:
                raise
            self._memory[path] = payload

    def insist_on_disk(self) -> None:
        """Discard payloads in memory, and keep none there from now on."""
        self.may_use_memory = False
        self._memory.clear()

    def write_file(self, path: str, data: bytes) -> None:
        """Replace one file atomically. Raises `StoreFull` and `StoreUnusable`."""
        try:
            try:
                self._replace(path, data)
            except FileNotFoundError:  # garbage collection has just removed the empty directory
                self._replace(path, data)
        except OSError as error:
            raise unusable(self.path, error) from error

    def _replace(self, path: str, data: bytes) -> None:
        self.prepare()
        self.permissions.make_directories(os.path.dirname(path))
        with atomic_write(path, os.path.join(self.path, "tmp", secrets.token_hex(8))) as file:
            self.permissions.give(file.fileno())
            file.write(data)

    def remove_file(self, path: str) -> None:
        """Remove one file, if it exists. Raises `StoreUnusable`."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise unusable(self.path, error) from error

    def touch(self, area: str, name: str) -> bool:
        """Renew the modification time, which protects from collection; return True if the file exists.

        A file in an alternate is not changed; if it is removed there, it is rebuilt when needed.
        """
        path = self.file(area, name)
        if path in self._memory:
            return True
        try:
            os.utime(path)
        except OSError:
            return self.find(area, name) is not None
        return True

    def remove(self, area: str, name: str) -> None:
        """Remove a payload, if there is one."""
        discard_file(self.file(area, name))

    def keys(self, area: str) -> Iterator[bytes]:
        """Yield the names stored in an area, 20 or 32 bytes each, in no order; skip other files."""
        for folder, _, files in os.walk(os.path.join(self.path, area)):
            spread = os.path.basename(folder) if len(os.path.basename(folder)) == 2 else ""
            for name in (spread + file for file in files):
                if len(name) in _NAME_LETTERS:
                    with suppress(ValueError):
                        yield bytes.fromhex(name)

    def file(self, area: str, name: str) -> str:
        """Return the path of a name. Names are spread over 256 directories by their first two letters."""
        return next(self._files(area, name))

    def _files(self, area: str, name: str) -> Iterator[str]:
        for path in (self.path, *self.alternates):
            yield os.path.join(path, area, name[:2], name[2:])

    def prepare(self) -> None:
        """Create the directory with its tag and version files, if missing. Raises `StoreUnusable`."""
        if _layout(self.path) == str(LAYOUT) and os.path.isdir(os.path.join(self.path, "tmp")):
            return
        try:
            self.permissions.make_directories(os.path.join(self.path, "tmp"))
            for name, text in (("CACHEDIR.TAG", _TAG), ("version", f"{LAYOUT}\n")):
                path = os.path.join(self.path, name)
                with open(path, "w", encoding="ascii", opener=without_waiting) as file:
                    file.write(text)
                    self.permissions.give(file.fileno())
        except OSError as error:
            raise unusable(self.path, error) from error

    def sweep(self) -> None:
        """Remove abandoned temporary files of killed processes."""
        with suppress(OSError), os.scandir(os.path.join(self.path, "tmp")) as entries:
            for entry in entries:
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > ABANDONED:
                    discard_file(entry.path)

    def check_layout(self) -> None:
        """Raise `StoreUnusable` if the directory has the layout of another version."""
        found = _layout(self.path)
        # Not a number: the file is damaged, but every object states its layout.
        if found.isdigit() and found != str(LAYOUT):
            raise StoreUnusable(
                f"{self.path} has layout {found!r}, this program knows layout {LAYOUT}: "
                "use the newer git-ctx, or remove the directory and index again"
            )

    def size(self) -> int:
        """Return the size of all files below the directory in bytes."""
        total = 0
        for folder, _, files in os.walk(self.path):
            for name in files:
                with suppress(OSError):
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total


def _layout(path: str) -> str:
    version = read_regular(os.path.join(path, "version"), 32) or b""
    return version.decode("ascii", "replace").strip()


def unusable(path: str, error: OSError) -> StoreUnusable:
    """Return the error for a store that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no room left for the index in {path}: free some space, then run the command again")
    return StoreUnusable(
        f"the index in {path} cannot be written ({error.strerror or error}): fix its permissions, "
        "or remove it and run the command again"
    )
