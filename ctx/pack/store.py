"""Store of packs: `<git common dir>/ctx/packs/<slug>/`, readable only by the user.

A pack is a manifest and a prompt. It is written to `tmp/` and moved into place atomically; other directories
are not listed. Slugs are validated, so they cannot name other paths.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from ctx.errors import CtxError, Damaged
from ctx.pack.manifest import decode, encode
from ctx.pack.types import FORMATS, Pack
from ctx.storage.regular_files import open_regular
from ctx.storage.store import Store, unusable
from ctx.text.query import tokens

DIRECTORY = "packs"
MANIFEST = "manifest.json"
PROMPTS = dict(zip(FORMATS, ("PACK.md", "PACK.xml", "PACK.json"), strict=True))
LATEST = "latest"

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_WORDS, _LETTERS = 5, 40
_DIGITS = 8
_MOST_BYTES = 64 << 20
_HOW = "`git ctx pack --list` lists the existing ones"


class StoredPack(NamedTuple):
    """A stored pack: `created` in nanoseconds since 1970, `size` in bytes.

    `format` and `prompt_size` (bytes) are those of its text.
    """

    slug: str
    created: int
    size: int
    format: str
    prompt_size: int


def slug_for(task: str, identity: str) -> str:
    """Return the slug of a pack: words of its task, and hash digits of `identity`, its inputs."""
    words: list[str] = []
    for token in tokens(task):
        word = re.sub(r"[^a-z0-9]+", "-", token.lower()).strip("-")
        if word and len("-".join([*words, word])) <= _LETTERS:
            words.append(word)
        if len(words) == _WORDS:
            break
    digits = blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2).hexdigest()
    return "-".join([*words, digits])


class PackStore:
    """Packs of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.path = os.path.join(store.path, DIRECTORY)

    def list(self) -> list[StoredPack]:
        """Return the packs that this user may read, newest first."""
        found = [one for one in map(self._listed, self._names()) if one is not None]
        return sorted(found, key=lambda one: (-one.created, one.slug))

    def find(self, name: str) -> str:
        """Return the slug for a slug, a unique prefix, or `latest`. Raises CtxError."""
        if name == LATEST:
            packs = self.list()
            if not packs:
                raise CtxError("there is no pack yet: `git ctx pack --task …` makes one")
            return packs[0].slug
        if not _SLUG.fullmatch(name.rstrip("-") or "-"):
            raise CtxError(f"{name!r} is not a valid pack name: {_HOW}")
        slugs = sorted(one.slug for one in self.list())
        if name in slugs:
            return name
        meant = [slug for slug in slugs if slug.startswith(name)]
        if len(meant) == 1:
            return meant[0]
        if meant:
            several = ", ".join(meant[:5]) + (" …" if len(meant) > 5 else "")
            raise CtxError(f"several packs begin with '{name}': {several}; write more of it")
        raise CtxError(f"there is no pack '{name}': {_HOW}")

    def has(self, slug: str) -> bool:
        """Return True if a pack with exactly this slug exists."""
        return _SLUG.fullmatch(slug) is not None and self._listed(slug) is not None

    def read(self, slug: str) -> Pack:
        """Return the pack of a slug. Raises CtxError if it is missing, damaged, or of a later version."""
        try:
            pack = decode(self._bytes(slug, MANIFEST))
        except Damaged as error:
            raise CtxError(f"the pack '{slug}' is damaged ({error}): pack the task again") from error
        if pack.slug != slug:
            raise CtxError(f"the pack '{slug}' has the manifest of '{pack.slug}': pack the task again")
        return pack

    def prompt(self, pack: Pack) -> str:
        """Return the text of a pack. Raises CtxError if it is missing or not UTF-8."""
        try:
            return self._bytes(pack.slug, PROMPTS[pack.options.format]).decode()
        except UnicodeDecodeError:
            raise CtxError(f"the pack '{pack.slug}' is damaged: pack the task again") from None

    def place(self, pack: Pack) -> str:
        """Return the path of the text of a pack."""
        return os.path.join(self.path, pack.slug, PROMPTS[pack.options.format])

    def write(self, pack: Pack, prompt: str) -> None:
        """Store a pack atomically. Raises StoreUnusable."""
        target = os.path.join(self.path, pack.slug)
        made = None
        try:
            self._store.prepare()
            if not os.path.isdir(self.path):
                os.makedirs(self.path, mode=0o700, exist_ok=True)
                self._store.permissions.give(self.path)
            made = tempfile.mkdtemp(prefix="pack-", dir=os.path.join(self._store.path, "tmp"))
            for name, data in (
                (PROMPTS[pack.options.format], prompt.encode("utf-8", "replace")),
                (MANIFEST, encode(pack)),
            ):
                with open(os.path.join(made, name), "wb", opener=_for_the_user) as file:
                    file.write(data)
            self._move(made, target)
        except OSError as error:
            raise unusable(self._store.path, error) from error
        finally:
            if made is not None:
                shutil.rmtree(made, ignore_errors=True)

    def _move(self, made: str, target: str) -> None:
        """Move a directory into place, and the previous one into `tmp/`."""
        for _ in range(10):
            try:
                os.rename(made, target)
                return
            except OSError:
                if not os.path.lexists(target):
                    raise
            aside = tempfile.mkdtemp(prefix="pack-", dir=os.path.join(self._store.path, "tmp"))
            try:
                os.rename(target, os.path.join(aside, "old"))
            except FileNotFoundError:
                pass  # another process replaces it too
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        os.rename(made, target)

    def _names(self) -> Iterator[str]:
        try:
            names = os.listdir(self.path)
        except OSError:
            return
        yield from (name for name in names if _SLUG.fullmatch(name))

    def _listed(self, slug: str) -> StoredPack | None:
        folder = os.path.join(self.path, slug)
        try:
            with os.scandir(folder) as entries:
                files = {
                    entry.name: entry.stat(follow_symlinks=False) for entry in entries if entry.is_file()
                }
        except OSError:
            return None
        form = next((one for one, name in PROMPTS.items() if name in files), None)
        if MANIFEST not in files or form is None:
            return None
        size = sum(one.st_size for one in files.values())
        return StoredPack(slug, files[MANIFEST].st_mtime_ns, size, form, files[PROMPTS[form]].st_size)

    def _bytes(self, slug: str, name: str) -> bytes:
        if not _SLUG.fullmatch(slug):
            raise CtxError(f"{slug!r} is not a valid pack name: {_HOW}")
        try:
            with open_regular(os.path.join(self.path, slug, name)) as file:
                return file.read(_MOST_BYTES)
        except FileNotFoundError:
            raise CtxError(f"there is no pack '{slug}': {_HOW}") from None
        except OSError as error:
            raise CtxError(f"the pack '{slug}' cannot be read: {error.strerror}") from None


def _for_the_user(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)
