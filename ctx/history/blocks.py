"""Partition of a history into blocks, and loading or building of these blocks.

The commits of a history, oldest first, are cut into runs at boundaries chosen by their ids. A run is one
block; the last, growing run is split into blocks whose sizes are powers of two. A block is built from two
halves, recursively down to single commits; stored halves are not read from git again. A new commit costs its
own block and sometimes a join.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import groupby

from ctx.errors import Damaged
from ctx.git.commits import CommitChange, Range, read_changes
from ctx.git.repository import Repository
from ctx.history import AREA, VERSION
from ctx.history.block import UNREAD, decode_block, encode_block, join
from ctx.history.building import build_block
from ctx.models.static_embedding import static_embedding
from ctx.storage.arrays import Arrays
from ctx.storage.store import Store
from ctx.storage.vectors import MODEL_ID
from ctx.text import VERSION as WORDS_VERSION
from ctx.text.vocabulary import Vocabulary

_MEAN, _MOST = 128, 256
"""Mean and maximum number of commits of a run."""
_MOST_RESTARTS = 20
"""Maximum number of restarts of git after a commit that it cannot compare."""

OnProgress = Callable[[int, int], bool]
"""Called with the number of commits read and the total; returns False to leave out the rest."""


def runs(commits: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each block in a history."""
    start = 0
    for place, oid in enumerate(commits):
        if int.from_bytes(oid[-4:], "big") * _MEAN < 1 << 32 or place + 1 - start == _MOST:
            yield start, place + 1
            start = place + 1
    while start < len(commits):
        end = start + (1 << (len(commits) - start).bit_length() - 1)
        yield start, end
        start = end


def block_key(commits: Sequence[bytes], shallow: frozenset[bytes]) -> bytes:
    """Return the key of a block: a hash of all that it is made from."""
    head = f"history\0{VERSION}\0{WORDS_VERSION}\0{MODEL_ID}\0".encode()
    marked = b"".join(oid + (b"/" if oid in shallow else b".") for oid in commits)
    return blake2b(head + marked, digest_size=20).digest()


class Blocks:
    """The blocks of one history."""

    def __init__(self, repository: Repository, store: Store, history: Range) -> None:
        self._repository = repository
        self._store = store
        self._history = history
        self.indexed = 0
        """Number of commits read from git."""
        self.waiting = 0
        """Number of commits that were not read."""
        self._restarts = 0

    def touch(self) -> None:
        """Mark the blocks as used, so that garbage collection keeps them."""
        for start, end in runs(self._history.commits):
            self._store.touch(AREA, self._key(start, end))

    def load(self, on_progress: OnProgress | None = None) -> list[Arrays]:
        """Return the blocks, oldest first; build and store missing ones, the newest first.

        If `on_progress` ends it, `waiting` commits are in none of the blocks.
        """
        places = list(runs(self._history.commits))
        found = [self._stored(start, end) for start, end in places]
        missing = [number for number, block in enumerate(found) if block is None]
        self.waiting = total = sum(places[number][1] - places[number][0] for number in missing)
        if on_progress is not None and total:
            on_progress(0, total)
        for number in reversed(missing):
            start, end = places[number]
            found[number] = self._built(start, end)
            self.waiting -= end - start
            if on_progress is not None and not on_progress(total - self.waiting, total):
                break
        return [block for block in found if block is not None]

    @cached_property
    def _vocabulary(self) -> Vocabulary:
        return Vocabulary(static_embedding().row)

    def _key(self, start: int, end: int) -> str:
        return block_key(self._history.commits[start:end], self._history.shallow).hex()

    def _stored(self, start: int, end: int) -> Arrays | None:
        payload = self._store.read(AREA, self._key(start, end))
        if payload is None:
            return None
        try:
            return decode_block(payload, self._history.commits[start:end])
        except Damaged:
            return None

    def _built(self, start: int, end: int) -> Arrays:
        """Build a block from its stored parts and from commits read from git; store it if complete."""
        parts: list[Arrays] = []
        for is_stored, pieces in groupby(self._pieces(start, end), lambda piece: piece[1] is not None):
            if is_stored:
                parts += [block for _, block in pieces if block is not None]
            else:
                parts.append(self._read([oid for oid, _ in pieces]))
        built = parts[0] if len(parts) == 1 else join(parts)
        # A block with missing objects does not match its key.
        if not (built["commit_flags"] & UNREAD).any():
            self._store.write(AREA, self._key(start, end), encode_block(built))
        return built

    def _pieces(self, start: int, end: int) -> Iterator[tuple[bytes, Arrays | None]]:
        """Yield the stored parts of a block, halved as needed, and the single commits not stored.

        Each with its first commit; None for one that is not stored.
        """
        size = end - start
        if size == 1:
            yield self._history.commits[start], None
            return
        half = start + (1 << (size - 1).bit_length() - 1)
        for first, last in ((start, half), (half, end)):
            block = self._stored(first, last)
            if block is not None:
                yield self._history.commits[first], block
            else:
                yield from self._pieces(first, last)

    def _read(self, commits: Sequence[bytes]) -> Arrays:
        changes: list[CommitChange] = []
        unread: set[bytes] = set()
        while len(changes) < len(commits):
            left = commits[len(changes) :]
            if self._restarts < _MOST_RESTARTS:
                changes += read_changes(self._repository, left, self._history.merges | self._history.shallow)
            lost = commits[len(changes) :]
            if lost:
                self._restarts += 1
                lost = lost if self._restarts >= _MOST_RESTARTS else lost[:1]
                changes += map(self._message_alone, lost)
                unread.update(lost)
        self.indexed += len(commits)
        return build_block(self._vocabulary, changes, self._history, unread)

    def _message_alone(self, oid: bytes) -> CommitChange:
        """Return a commit without its changes, for trees that cannot be compared. Raises Damaged."""
        try:
            data = self._repository.objects.read(oid).data
            info = self._repository.commit_info(oid)
        except KeyError as error:
            raise Damaged(f"commit {oid.hex()[:12]} is missing: `git fsck` looks for damage") from error
        return CommitChange(oid, info.committer_time, data.partition(b"\n\n")[2], [], [], False)
