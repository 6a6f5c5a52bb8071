"""Terms: the stem of a word, in a field.

A term is the stem of a word, or the whole of a compound identifier with its words concatenated, so that
`SessionStore`, `session_store` and `sessionStore` share a term. An exact name is a term too.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from hashlib import blake2b

from ctx.text.runs import HASH_BITS
from ctx.text.stem import stem

TEXT = 0
"""Field of terms anywhere in a chunk."""
DEFINITION = 0x5DEECE66D
"""Field of terms in the names that a chunk defines: hashes in it differ by these bits."""
COMPOUND = 0x2545F4914
"""Bits that distinguish a compound from a plain word of the same letters."""
EXACT = 0x1B873593E
"""Bits that distinguish an exact name from its word."""

_SHORTEST = 2
"""Lowest number of letters of a term; single letters are too frequent."""
_SHORTEST_NUMBER = 3

STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be been being between but by can could did do does"
    " doing each for from had has have having he her here hers him his how i if in into is it its itself"
    " just me more most my no nor not of off on once only or other our out over own same she should so"
    " some such than that the their them then there these they this those through to too under until up"
    " us very was we were what when where which while who whom why will with would you your".split()
)
"""Words too frequent to be searched for: embedded, but not counted."""

_FOREIGN_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces: Kana, Han, Thai, Lao, Khmer, Myanmar.
_UNSPACED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
COMBINING = re.compile("[\u0300-\u036f]")
_ASCII_WORD = re.compile(
    r"[A-Z]{2,}(?:s(?![a-z]|(?<=[IA]s)[A-Z])|v(?=[0-9]))|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
)


def is_term(word: str) -> bool:
    """Return True if a lower-case word is a term."""
    if not word.isascii():
        return True
    return len(word) >= (_SHORTEST_NUMBER if word.isdigit() else _SHORTEST) and word not in STOP_WORDS


@lru_cache(maxsize=1 << 16)
def term_hash(word: str) -> int:
    """Return a hash of HASH_BITS bits of a lower-case word's stem in the field TEXT (BLAKE2b, RFC 7693)."""
    data = stem(word).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> (64 - HASH_BITS)


def ascii_words(token: str) -> list[str]:
    """Return the lower-case words of one ASCII token, split as by `runs.scan`."""
    return [word.lower() for word in _ASCII_WORD.findall(token)]


def ascii_word_spans(token: str) -> list[tuple[int, int]]:
    """Return the start and the end of each word of `ascii_words`."""
    return [word.span() for word in _ASCII_WORD.finditer(token)]


def foreign_words(run: str) -> list[str]:
    """Return the lower-case words of a run with non-ASCII letters; Latin, Greek and Cyrillic lose accents.

    Text without spaces between words is split into bigrams of characters, the usual unit without a
    dictionary.
    """
    plain = unicodedata.normalize("NFC", COMBINING.sub("", unicodedata.normalize("NFKD", run)))
    words: list[str] = []
    for piece in _FOREIGN_WORD.findall(plain):
        start = 0
        for unspaced in _UNSPACED.finditer(piece):
            words += _split_case(piece[start : unspaced.start()])
            characters = unspaced.group()
            words += [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
            start = unspaced.end()
        words += _split_case(piece[start:])
    return words


def _split_case(piece: str) -> list[str]:
    if piece.isascii():
        return ascii_words(piece)
    words, start = [], 0
    for i in range(1, len(piece)):
        if piece[i].isupper() and not piece[i - 1].isupper():
            words.append(piece[start:i].lower())
            start = i
    words.append(piece[start:].lower())
    return words
