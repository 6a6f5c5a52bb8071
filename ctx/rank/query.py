"""What a query asks for, in the forms that scoring needs."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.embed.protocol import Embedder
from ctx.views import paths
from ctx.words.query import Term, read_query, tokens
from ctx.words.vocabulary import exact_names

MAX_LENGTH = 4096
"""Characters of a query that are read; the rest says nothing new."""
_MAX_TERMS = 64

_ASKS_FOR = (
    (paths.TEST, re.compile(r"\b(tests?|testing|specs?|fixtures?|mocks?|benchmarks?)\b", re.I)),
    (paths.EXAMPLE, re.compile(r"\b(examples?|samples?|demos?|tutorials?)\b", re.I)),
    (paths.DOCS, re.compile(r"\b(docs?|documentation|readme|changelog|guide|tutorials?|license)\b", re.I)),
    (paths.CONFIG, re.compile(r"\b(config(uration)? file|yaml|toml|workflow|ci|pipeline|dockerfile|makefile)\b", re.I)),
    (paths.LEGACY, re.compile(r"\b(legacy|compat|deprecated)\b", re.I)),
    (paths.DECLARATIONS, re.compile(r"\b(exports?|re-?exports?|declarations?|stubs?|typings?)\b", re.I)),
)
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|->|#|\\|/)[A-Za-z_$][\w$]*)*\Z")


class Query(NamedTuple):
    """A query made ready.

    `names` are the hashes of the identifiers in it, as they would be defined to the letter. `asked` are the
    path flags that the words ask for; `is_symbol` means one bare name.
    """

    terms: list[Term]
    names: list[int]
    vector: npt.NDArray[np.float32]
    bits: npt.NDArray[np.uint64]
    asked: int
    is_symbol: bool


def prepare(text: str, embedder: Embedder) -> Query:
    """Read a query."""
    text = text[:MAX_LENGTH]
    terms = read_query(text)[:_MAX_TERMS]
    names = [_exact(token) for token in dict.fromkeys(_identifiers(text))]
    vector = embedder.embed_query(text)
    stripped = text.strip()
    is_symbol = bool(_SYMBOL.match(stripped)) and not stripped.islower()
    asked = 0
    for flag, pattern in _ASKS_FOR:
        if pattern.search(text):
            asked |= flag
    return Query(terms, names, vector, np.packbits(vector >= 0).view("<u8"), asked, is_symbol)


def _identifiers(text: str) -> list[str]:
    """The words of a query that look like names in code; the only word of a query may be one, whatever it looks like."""
    found = tokens(text)
    if len(found) == 1 or _SYMBOL.match(text.strip()):
        return found[-1:]
    return [token for token in found if "_" in token.strip("_") or not (token.islower() or token.istitle() or token.isupper())]


def _exact(token: str) -> int:
    data = token.encode("utf-8", "surrogatepass")
    return int(exact_names(data, [(0, len(data))]).word[0])
