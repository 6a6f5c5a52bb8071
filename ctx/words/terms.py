"""From one token to its words and its terms."""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b

from ctx.words.stem import stem

TOKEN_ASCII = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]{3,}")
TOKEN = re.compile(r"[^\W\d]\w*|\d{3,}")
_ASCII_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

# Scripts written without spaces: Han, Hiragana, Katakana, Hangul is spaced, Thai, Lao, Khmer.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1780-\u17ff]+")
_COMBINING = re.compile("[\u0300-\u036f]")

TEXT = b""
"""The field of terms that stand anywhere in a chunk."""
DEFINITION = b"\x01"
"""The field of terms in the names that a chunk defines."""

_STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be been being between but by can could did do does doing each"
    " for from had has have having he her here hers him his how i if in into is it its itself just me more most my"
    " no nor not of off on once only or other our out over own same she should so some such than that the their"
    " them then there these they this those through to too under until up us very was we were what when where"
    " which while who whom why will with would you your find show me code function implement implemented"
    " implementation please".split()
)


def tokens(text: str) -> list[str]:
    """The tokens of a text, in order."""
    return (TOKEN_ASCII if text.isascii() else TOKEN).findall(text)


def split_words(token: str) -> list[str]:
    """The lower-case words of a token: `parseHTTPHeader_v2` gives parse, http, header, v, 2."""
    if token.isascii():
        return [word.lower() for word in _ASCII_WORD.findall(token)]
    return _split_unicode(token)


def _split_unicode(token: str) -> list[str]:
    plain = _COMBINING.sub("", unicodedata.normalize("NFKD", token))
    plain = unicodedata.normalize("NFC", plain)
    words: list[str] = []
    for piece in plain.split("_"):
        start = 0
        for run in _UNSPACED.finditer(piece):
            words += _split_case(piece[start : run.start()])
            # Two neighbouring characters are the usual unit where no dictionary is at hand.
            characters = run.group()
            words += [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
            start = run.end()
        words += _split_case(piece[start:])
    return words


def _split_case(piece: str) -> list[str]:
    if not piece:
        return []
    if piece.isascii():
        return [word.lower() for word in _ASCII_WORD.findall(piece)]
    words, start = [], 0
    for i in range(1, len(piece)):
        if piece[i].isupper() and not piece[i - 1].isupper():
            words.append(piece[start:i].lower())
            start = i
    words.append(piece[start:].lower())
    return words


def terms_of(words: list[str]) -> list[str]:
    """The terms of a token with these words, without repeats: stems, and the whole of a compound."""
    found = dict.fromkeys(stem(word) for word in words if len(word) > 1)
    if len(words) > 1:
        found[whole(words)] = None
    return list(found)


def whole(words: list[str]) -> str:
    """The term of a compound. The mark keeps a compound apart from a plain word of the same letters."""
    return "=" + "".join(words)


def term_hash(term: str, field: bytes = TEXT) -> int:
    """40 bits that stand for a term in a field (BLAKE2b, RFC 7693)."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=5, key=field).digest(), "big")


def query_terms(query: str) -> dict[str, float]:
    """The terms of a query with their weights.

    Stop words count only where nothing else is there. Words that stand side by side are also tried as
    one compound name ("session store" meets `SessionStore`), at a lower weight.
    """
    found: dict[str, float] = {}
    previous: list[str] = []
    kept = [token for token in tokens(query) if token.lower() not in _STOP_WORDS] or tokens(query)
    for token in kept:
        words = split_words(token)
        for term in terms_of(words):
            found[term] = found.get(term, 0.0) + 1.0
        if previous and words:
            found.setdefault(whole(previous + words), 0.5)
        previous = words if len(words) < 3 else []
    return found
