"""The object store: named, immutable bytes in files that are whole or not there.

All lies below `<git common dir>/ctx/`. Reading takes no lock. A damaged or foreign file is a miss. The stores
of repositories that this one borrows objects from are read as well; nothing there is ever changed.
docs/format.md has the layout of the directory and the bytes of the files.
"""

from __future__ import annotations

import errno
import os
import secrets
import struct
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import zstandard

from ctx.errors import Damaged, Decoding, StoreFull, StoreUnusable
from ctx.git.permissions import UMASK, Permissions
from ctx.storage.regular_files import open_regular, without_waiting

LAYOUT = 1
DIRECTORY = "ctx"
"""The name of a store within the common git directory."""
MAX_PAYLOAD = 64 << 20

_HEAD = struct.Struct("<4sBBHI16s")
_MAGIC = b"CTXO"
_RAW, _ZSTD = 0, 1
_NAME_LETTERS = (40, 64)
_WORTH_COMPRESSING = 200
_LEVEL = 9
_ABANDONED = 3600.0
"""Seconds after which nobody writes a temporary file any more."""
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This directory holds the index of git-ctx, which can be made anew at any time.\n"
)


def encode_object(name: str, payload: bytes, *, level: int = _LEVEL) -> bytes:
    """The file that holds a payload: head, digest of name and payload, payload as zstd (RFC 8878) or raw.

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
    """The payload of a file that was written under this name.

    Raises `Damaged`, also for what was written under another one; never makes more than `most` bytes.
    """
    magic, layout, coding, _, size, digest = _HEAD.unpack_from(data)
    if magic != _MAGIC or layout != LAYOUT or size > most or coding not in (_RAW, _ZSTD):
        raise Damaged("an object is not of this version")
    payload = data[_HEAD.size :]
    if coding == _ZSTD:
        # zstd believes the size that the frame states, and makes room for it.
        if zstandard.frame_content_size(payload) != size:
            raise Damaged("an object is not as large as it says")
        payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=size)
    if len(payload) != size or _digest(name, payload) != digest:
        raise Damaged("an object does not match its digest")
    return payload


def _digest(name: str, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=16, key=name.encode()).digest()


class Store:
    """The files of one repository's index. Nothing is made on disk before the first write."""

    def __init__(
        self, common_dir: str, lenders: Sequence[str] = (), permissions: Permissions = UMASK
    ) -> None:
        """`lenders` are the common directories of repositories whose stores are read too."""
        self.permissions = permissions
        self.path = os.path.join(common_dir, DIRECTORY)
        lent = [os.path.join(lender, DIRECTORY) for lender in lenders]
        self.lent = [path for path in lent if _layout(path) == str(LAYOUT)]
        self.may_use_memory = False
        """Whether what cannot be written is kept in this process instead: a search must still answer."""
        self._memory: dict[str, bytes] = {}

    def read(self, area: str, name: str) -> bytes | None:
        """A payload, or None where there is none that can be trusted."""
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
        """Whether there is a file of that name; its content is checked when it is read."""
        return self.file(area, name) in self._memory or self.find(area, name) is not None

    def find(self, area: str, name: str) -> str | None:
        """Where there is a file of that name, here or in a store that is only read."""
        return next(filter(os.path.exists, self._files(area, name)), None)

    def owns(self, area: str, name: str) -> bool:
        """Whether there is a file of that name in this store itself."""
        path = self.file(area, name)
        return path in self._memory or os.path.exists(path)

    def write(self, area: str, name: str, payload: bytes) -> None:
        """Store a payload under its name, whole or not at all."""
        path = self.file(area, name)
        if self._memory:
            # What names an object that is only in memory must not be found without it.
            self._memory[path] = payload
            return
        try:
            self.write_file(path, encode_object(name, payload))
        except StoreUnusable:
            if not self.may_use_memory:
                raise
            self._memory[path] = payload

    def insist_on_disk(self) -> None:
        """Forget what was kept in memory, and keep nothing there from now on."""
        self.may_use_memory = False
        self._memory.clear()

    def write_file(self, path: str, data: bytes) -> None:
        """Replace one file atomically. Raises `StoreFull` and `StoreUnusable`."""
        temporary = None
        try:
            self.prepare()
            self.permissions.make_directories(os.path.dirname(path))
            temporary = os.path.join(self.path, "tmp", secrets.token_hex(8))
            with open(temporary, "xb", opener=_for_everybody) as file:
                self.permissions.give(file.fileno())
                file.write(data)
            try:
                os.replace(temporary, path)
            except FileNotFoundError:  # a collection has just removed the directory, which was empty
                self.permissions.make_directories(os.path.dirname(path))
                os.replace(temporary, path)
        except BaseException as error:
            if temporary:
                _remove(temporary)
            if isinstance(error, OSError):
                raise unusable(self.path, error) from error
            raise

    def touch(self, area: str, name: str) -> bool:
        """Make a file young, so that a collection leaves it; whether there is one.

        One that another store lends stays as it is: what relies on it makes it again should it go there.
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
        """Forget a payload; nothing happens where there is none."""
        _remove(self.file(area, name))

    def remove_file(self, path: str) -> None:
        """Remove a file that `write_file` wrote; nothing happens where there is none."""
        _remove(path)

    def names(self, area: str) -> Iterator[str]:
        """The names stored in an area, in no order: 20 or 32 bytes each. Other files are not ours."""
        for folder, _, files in os.walk(os.path.join(self.path, area)):
            spread = os.path.basename(folder) if len(os.path.basename(folder)) == 2 else ""
            yield from (spread + file for file in files if len(spread + file) in _NAME_LETTERS)

    def file(self, area: str, name: str) -> str:
        """Where a name lies. Names are spread over 256 directories by their first two letters."""
        return os.path.join(self.path, area, name[:2], name[2:])

    def _files(self, area: str, name: str) -> Iterator[str]:
        for path in (self.path, *self.lent):
            yield os.path.join(path, area, name[:2], name[2:])

    def prepare(self) -> None:
        """Make the directory and what marks it, where they are not there."""
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
        """Remove what killed processes left half written."""
        folder = os.path.join(self.path, "tmp")
        try:
            for name in os.listdir(folder):
                path = os.path.join(folder, name)
                if time.time() - os.lstat(path).st_mtime > _ABANDONED:
                    _remove(path)
        except OSError:
            pass

    def check_layout(self) -> None:
        """Raises `StoreUnusable` where another program has laid the directory out in another way."""
        found = _layout(self.path)
        # What is no number was damaged; the objects say their layout themselves.
        if found.isdigit() and found != str(LAYOUT):
            raise StoreUnusable(
                f"{self.path} has layout {found!r}, this program knows layout {LAYOUT}: "
                "use the newer git-ctx, or remove the directory and index again"
            )

    def size(self) -> int:
        """Bytes of all files below the directory."""
        total = 0
        for folder, _, files in os.walk(self.path):
            for name in files:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size
                except OSError:
                    continue
        return total


def _layout(path: str) -> str:
    try:
        with open_regular(os.path.join(path, "version")) as file:
            return file.read(32).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def unusable(path: str, error: OSError) -> StoreUnusable:
    """The error for the user when the store cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no room left for the index in {path}: free some space, then run the command again")
    return StoreUnusable(
        f"the index in {path} cannot be written ({error.strerror or error}): mend its permissions, "
        "or remove it and run the command again"
    )


def _for_everybody(path: str, flags: int) -> int:
    # The kernel takes the umask off. To read it a process must set it, which other threads would notice.
    return os.open(path, flags | os.O_CLOEXEC, 0o666)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
