"""Finding the words of many bytes at once.

A run is a longest stretch of letters, digits, underscores and bytes above 127: an identifier or a word of
prose. It is split into words at underscores, between letters and digits, before a capital that follows a
small letter, and before the last of several capitals if a small letter comes next (`parseHTTPHeader_v2`:
parse, http, header, v, 2), unless that is the plural or the version of an acronym (`getURLs`, `IPv4`: get,
urls; ipv, 4). Words and runs are identified by 64-bit hashes of their bytes, so that known ones need no
Python object.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

HASH_BITS = 36
"""Bits of a stored hash: among a million terms, one unknown in 68,000 is mistaken for a known one."""

_PRIMES = tuple(np.uint64(prime) for prime in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9))
_WHOLE_PRIMES = tuple(int(prime) for prime in _PRIMES)
_ALL_BITS = (1 << 64) - 1
_BLOCK = 8
_BLOCK_MASK = np.array([(1 << 8 * size) - 1 for size in range(_BLOCK + 1)], dtype=np.uint64)

_SMALL, _CAPITAL, _DIGIT, _JOIN, _FOREIGN = 1, 2, 4, 8, 16
_LETTER = _SMALL | _CAPITAL
_CLASS = np.zeros(256, dtype=np.uint8)
_CLASS[128:] = _FOREIGN
for _class, _first, _last in (
    (_SMALL, "a", "z"),
    (_CAPITAL, "A", "Z"),
    (_DIGIT, "0", "9"),
    (_JOIN, "_", "_"),
):
    _CLASS[ord(_first) : ord(_last) + 1] = _class
_LOWER = np.arange(256, dtype=np.uint8)
_LOWER[65:91] += 32

Offsets = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


class Scan(NamedTuple):
    """The runs and the words of a text, in order.

    Runs, all (runs,): `run_start`, `run_end` half open offsets, `foreign` has bytes above 127, `numeric`
    begins with a digit. Words, all (words,): `word_start`, `word_end`, `word` the hash in lower case,
    `word_run` the run; foreign runs have none here. Compounds, (compounds,): `compound` the runs that have
    several words and are neither foreign nor numeric, `whole` one hash of these words.
    """

    run_start: Offsets
    run_end: Offsets
    foreign: Flags
    numeric: Flags
    word_start: Offsets
    word_end: Offsets
    word: Hashes
    word_run: Offsets
    compound: Offsets
    whole: Hashes


def scan(source: bytes) -> Scan:
    """Find the runs and words of a text; needs about fifty bytes of memory per byte."""
    octets = np.frombuffer(source, dtype=np.uint8)
    classes = np.zeros(len(octets) + 2, dtype=np.uint8)
    classes[1:-1] = _CLASS[octets]
    before, here, after = classes[:-2], classes[1:-1], classes[2:]
    run_start, run_end, run_begins = _stretches(classes)

    begins = ((here & _LETTER) != 0) & ((before & _LETTER) == 0)
    begins |= (here == _DIGIT) & (before != _DIGIT)
    begins |= (here == _CAPITAL) & (before == _SMALL)
    last_capital = np.flatnonzero((here == _CAPITAL) & (before == _CAPITAL) & (after == _SMALL))
    begins[last_capital[~_ends_an_acronym(octets, classes, last_capital + 1)]] = True
    in_word = (here & (_LETTER | _DIGIT)) != 0
    stops = in_word.copy()
    stops[:-1] &= ~in_word[1:] | begins[1:]
    word_start, word_end = np.flatnonzero(begins), np.flatnonzero(stops) + 1

    word_run = (np.cumsum(run_begins, dtype=np.int32)[word_start] - 1).astype(np.int64)
    foreign = np.zeros(len(run_start), dtype=bool)
    far = np.flatnonzero(here == _FOREIGN)
    if len(far):
        foreign[np.searchsorted(run_start, far, "right") - 1] = True
        own = ~foreign[word_run]
        word_start, word_end, word_run = word_start[own], word_end[own], word_run[own]
    numeric = here[run_start] == _DIGIT
    word = _hash(_LOWER[octets], word_start, word_end)
    whole, words_in_run = combine(word, word_run)
    run_of_whole = word_run[np.cumsum(words_in_run) - words_in_run]
    several = (words_in_run > 1) & ~numeric[run_of_whole]
    return Scan(
        run_start,
        run_end,
        foreign,
        numeric,
        word_start,
        word_end,
        word,
        word_run,
        run_of_whole[several],
        whole[several],
    )


def _ends_an_acronym(octets: npt.NDArray[np.uint8], classes: npt.NDArray[np.uint8], place: Offsets) -> Flags:
    """Mark each small letter after two capitals that ends their word: a plural or a version.

    Before a capital, `Is` and `As` are separate words (`URLIsValid`, `toJSONAsText`).
    """
    letter, capital, after = octets[place], octets[place - 1], classes[place + 2]
    word = (after == _CAPITAL) & ((capital == ord("I")) | (capital == ord("A")))
    ends: Flags = (letter == ord("s")) & (after != _SMALL) & ~word
    ends |= (letter == ord("v")) & (after == _DIGIT)
    return ends


def combine(word: Hashes, group: Offsets) -> tuple[Hashes, Offsets]:
    """Return one hash for the words of each group, in order, and the number of words; groups ascend."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    count = np.diff(first, append=len(group))
    place = np.arange(len(group)) - np.repeat(first, count)
    longest = int(count.max(initial=1))
    powers = np.cumprod(np.full(longest, _PRIMES[1], dtype=np.uint64), dtype=np.uint64)
    summed = np.add.reduceat(word * powers[place], first) if len(first) else word
    return summed ^ (summed >> np.uint64(31)), count


def exact_runs(source: bytes) -> tuple[Offsets, Hashes]:
    """Return the starts of the runs of a text, and the hashes of their exact bytes, both (runs,)."""
    octets = np.frombuffer(source, dtype=np.uint8)
    classes = np.zeros(len(octets) + 2, dtype=np.uint8)
    classes[1:-1] = _CLASS[octets]
    start, end, _ = _stretches(classes)
    return start, _hash(octets, start, end)


def shorten(hashes: Hashes) -> npt.NDArray[np.int64]:
    """Shorten 64-bit hashes to HASH_BITS bits."""
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.int64)


def _stretches(classes: npt.NDArray[np.uint8]) -> tuple[Offsets, Offsets, Flags]:
    """Return starts and ends of the runs, and for each byte whether a run starts there."""
    in_run = classes != 0
    begins = in_run[1:-1] & ~in_run[:-2]
    ends = in_run[1:-1] & ~in_run[2:]
    return np.flatnonzero(begins), np.flatnonzero(ends) + 1, begins


def _hash(octets: npt.NDArray[np.uint8], start: Offsets, end: Offsets) -> Hashes:
    """Hash each range of bytes, eight bytes at a time (the mixing steps are those of xxHash)."""
    padded = np.zeros(len(octets) + _BLOCK, dtype=np.uint8)
    padded[: len(octets)] = octets
    # Each eight adjacent bytes as one little-endian number, without copying.
    blocks: Hashes = np.ndarray((len(octets) + 1,), dtype="<u8", buffer=padded, strides=(1,))
    length = end - start
    hashed = length.astype(np.uint64) * _PRIMES[1]
    hashed = _mixed(hashed, blocks[start] & _BLOCK_MASK[np.minimum(length, _BLOCK)])
    done = _BLOCK
    left = np.flatnonzero(length > done)
    while len(left):
        block = blocks[start[left] + done] & _BLOCK_MASK[np.minimum(length[left] - done, _BLOCK)]
        hashed[left] = _mixed(hashed[left], block)
        done += _BLOCK
        left = left[length[left] > done]
    hashed = (hashed ^ (hashed >> np.uint64(32))) * _PRIMES[0]
    return hashed ^ (hashed >> np.uint64(31))


def _mixed(hashed: Hashes, block: Hashes) -> Hashes:
    mixed = (hashed ^ (block * _PRIMES[0])) * _PRIMES[2]
    return mixed ^ (mixed >> np.uint64(29))


def hash_of(octets: bytes) -> int:
    """Return the hash of one word or run; for a few of them this is faster than numpy."""
    hashed = len(octets) * _WHOLE_PRIMES[1] & _ALL_BITS
    for start in range(0, max(1, len(octets)), _BLOCK):
        block = int.from_bytes(octets[start : start + _BLOCK], "little")
        hashed = (hashed ^ (block * _WHOLE_PRIMES[0] & _ALL_BITS)) * _WHOLE_PRIMES[2] & _ALL_BITS
        hashed ^= hashed >> 29
    hashed = (hashed ^ (hashed >> 32)) * _WHOLE_PRIMES[0] & _ALL_BITS
    return hashed ^ (hashed >> 31)


def combined(words: Iterable[int]) -> int:
    """Return the hash of one group of words with these hashes, as `combine` does."""
    summed, power = 0, 1
    for word in words:
        power = power * _WHOLE_PRIMES[1] & _ALL_BITS
        summed += word * power
    summed &= _ALL_BITS
    return summed ^ (summed >> 31)
