"""A query in the forms that scoring needs."""

from __future__ import annotations

import re
from itertools import chain
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.models.static_embedding import sign_bits, static_embedding
from ctx.ranking.pasted import pasted, without_frames
from ctx.ranking.translated import Alternatives, translated
from ctx.storage.arrays import Floats, Ints
from ctx.storage.views import paths
from ctx.text.query import IDENTIFIER, Term, read_query, terms_in, tokens, words_of
from ctx.text.terms import ascii_words, term_hash
from ctx.text.translation import translate
from ctx.text.vocabulary import compound_hash, exact_hash

MAX_LENGTH = 20_000
"""Characters of a query that are read."""
_MAX_TERMS = 64
"""Number of terms of a query that count; of a longer one those that tell most."""
_MOST_OFTEN = 2.0
"""Largest weight of a term that is repeated."""
_IN_TITLE = 2.0
_IDENTIFIER = 2.0
"""Factors of a term in the first line, and of an identifier of several words, in a long query."""
_MOST_WHOLES = 96
_NAMED_WITHIN = 1000
"""Characters of a query whose words are tried as names."""
_LONGEST_NAME = 10
"""Largest number of words of a query that may be one name as a whole."""

_ASKS_FOR = (
    (paths.TEST, re.compile(r"\b(tests?|testing|specs?|fixtures?|mocks?|benchmarks?)\b", re.I)),
    (paths.EXAMPLE, re.compile(r"\b(examples?|samples?|demos?|tutorials?)\b", re.I)),
    (
        paths.DOCS,
        re.compile(
            r"\b(docs?|documentation|readme|changelog|release notes|guide|tutorials?|getting started|faq"
            r"|licen[cs]es?|contributing|code of conduct|(install\w*|build|setup|usage|upgrade|migration)"
            r" instructions|how (to|do i|can i) (install|contribute|upgrade))\b",
            re.I,
        ),
    ),
    (
        paths.CONFIG,
        re.compile(r"\b(config(uration)? file|yaml|toml|workflow|ci|pipeline|dockerfile|makefile)\b", re.I),
    ),
    (paths.LEGACY, re.compile(r"\b(legacy|compat|deprecated|v\d+)\b", re.I)),
    (paths.DECLARATIONS, re.compile(r"\b(exports?|re-?exports?|declarations?|stubs?|typings?)\b", re.I)),
)
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|->|#|\\|/)[A-Za-z_$][\w$]*)*\Z")

_QUESTION = re.compile(r"(how|what|where|why|which|when|who)\b", re.I)
_UNIT = 4096.0
_SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1.0


class WholeName(NamedTuple):
    """A definition whose whole name would consist of `size` neighbouring words of the query.

    Its hash, and the indices `words` of those words' terms, which may be fewer than `size`.
    """

    hash: int
    words: list[int]
    size: int


class Query(NamedTuple):
    """A prepared query, translated to English if it is in another known language.

    `hashes` and `weights` are those of `terms`, both (terms,). `words` are the indices of plain words, not
    compounds. `whole_names` are definitions that the words may mean. `names` are the hashes of the
    identifiers in it with exact spelling. `requested` are the path flags that the words ask for;
    `alternatives` are the terms of each translated word. `is_symbol` means one bare name, `is_question` a
    text that begins with a question word; `tokens` is the number of words separated by white space. `pasted`
    are the tokens of each line of a query that looks pasted, in lower case.
    """

    terms: list[Term]
    hashes: Ints
    weights: Floats
    words: list[int]
    names: list[int]
    whole_names: list[WholeName]
    vector: npt.NDArray[np.float32]
    bits: npt.NDArray[np.uint64]
    requested: int
    alternatives: list[Alternatives]
    is_symbol: bool
    is_question: bool
    tokens: int
    pasted: list[list[str]]

    def cosines(self, octets: npt.NDArray[np.uint8]) -> Floats:
        """Return the cosine of stored sign vectors (n, dimensions / 8) with the vector, in -1..1."""
        # Integers, so that the sum does not depend on the order; by octets, to avoid unpacking bits.
        whole = np.rint(self.vector.astype(np.float64) * _UNIT).reshape(-1, 8)
        table = (whole @ _SIGNS.T).astype(np.int32)
        summed = np.zeros(len(octets), dtype=np.int32)
        for values, column in zip(table, octets.T, strict=False):  # a tree without segments has no bits
            summed += values.take(column)
        cosine: Floats = summed / (_UNIT * np.sqrt(8.0 * octets.shape[1]))
        return cosine


def prepare(text: str) -> Query:
    """Read a query."""
    text = typed = without_frames(text)[:MAX_LENGTH]
    rendering = translate(text)
    embedded = text
    if rendering:
        # Embeddings cover other languages too, and comments may be in this one.
        text, embedded = rendering.text, f"{rendering.text} {text}"
    terms = _telling(read_query(text), text)
    alternatives: list[Alternatives] = []
    if rendering:
        terms, alternatives = translated(terms, rendering)
    names = [exact_hash(name) for name in dict.fromkeys(_identifiers(text))]
    vector = static_embedding().embed_query(embedded)
    stripped = text.strip()
    is_symbol = bool(_SYMBOL.match(stripped)) and not stripped.islower()
    requested = 0
    is_question = bool(_QUESTION.match(stripped))
    lines = pasted(typed)
    # In a message such words are its topic, not what the user looks for.
    for flag, pattern in _ASKS_FOR if is_question or not lines else ():
        if pattern.search(text):
            requested |= flag
    weights = np.array([min(term.weight, _MOST_OFTEN) for term in terms], dtype=np.float64)
    return Query(
        terms,
        np.array([term.hash for term in terms], dtype=np.int64),
        weights,
        plain_words(terms, weights),
        names,
        _wholes(text, terms),
        vector,
        sign_bits(vector).view("<u8"),
        requested,
        alternatives,
        is_symbol,
        is_question,
        len(stripped.split()),
        lines,
    )


def _telling(terms: list[Term], text: str) -> list[Term]:
    """Return the terms of a query that tell most, in order.

    The model knows which words mean little in a query. A report has its topic in the title.
    """
    if len(terms) <= _MAX_TERMS:
        return terms
    title = terms_in(text.strip().partition("\n")[0])
    table = static_embedding()

    def worth(term: Term) -> float:
        if term.origin == IDENTIFIER:
            value = _IDENTIFIER if term.weight >= 1.0 else 0.0
        else:
            value = float(table.query_scales[table.row(term.word)]) / scale
        return value * (1.0 + log(max(1.0, term.weight))) * (_IN_TITLE if term.hash in title else 1.0)

    scale = max(1e-9, float(np.median(table.query_scales)))
    values = [worth(term) for term in terms]
    kept = sorted(range(len(terms)), key=lambda place: (-values[place], place))[:_MAX_TERMS]
    return [terms[place] for place in sorted(kept)]


def words_that_ask(text: str, flag: int) -> list[str]:
    """Return the words of a query, in English, that ask for files with a path flag; lower case, unique."""
    text = without_frames(text)[:MAX_LENGTH]
    rendering = translate(text)
    pattern = dict(_ASKS_FOR)[flag]
    found = pattern.finditer(rendering.text if rendering else text)
    return list(dict.fromkeys(one[0].lower() for one in found))


def plain_words(terms: list[Term], weights: Floats) -> list[int]:
    """Return the indices of the terms that are words, not compounds, with at least the weight of a word."""
    return [
        place
        for place, (term, weight) in enumerate(zip(terms, weights.tolist(), strict=True))
        if weight >= 1.0 and len(words_of(term.word)) == 1
    ]


def _identifiers(text: str) -> list[str]:
    """Return the words of a query that look like names in code, or its only word."""
    found = tokens(text)
    if len(found) == 1 or _SYMBOL.match(text.strip()):
        return found[-1:]
    return [
        token
        for token in found
        if "_" in token.strip("_") or not (token.islower() or token.istitle() or token.isupper())
    ]


def _wholes(text: str, terms: list[Term]) -> list[WholeName]:
    """Return the names that one word of the query, up to four neighbouring words, or all would form.

    Only the name of all words may begin or end with a stop word: `is_open`, `url_for`.
    """
    place = {term.hash: number for number, term in enumerate(terms)}
    beginning = tokens(text[:_NAMED_WITHIN])
    words = [word for token in beginning for word in words_of(token) if word.isascii()]
    known = [place.get(term_hash(word), -1) for word in words]
    spans = [
        (start, start + size)
        for size in (2, 3, 4)
        for start in range(len(words) - size + 1)
        if known[start] >= 0 and known[start + size - 1] >= 0
    ][:_MOST_WHOLES]
    everything = (0, len(words))
    if 1 < len(words) <= _LONGEST_NAME and everything not in spans and max(known) >= 0:
        spans.append(everything)
    cut = [ascii_words(word) for word in words]  # non-ASCII words may still contain digits
    found = [
        WholeName(
            compound_hash(chain.from_iterable(cut[start:end])),
            [at for at in known[start:end] if at >= 0],
            end - start,
        )
        for start, end in spans
    ]
    found += [
        WholeName(exact_hash(variant), [at], 1)
        for word, at in dict(zip(words, known, strict=True)).items()
        for variant in (word, word.capitalize())
        if at >= 0
    ]
    return found
