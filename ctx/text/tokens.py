"""Counting the tokens of a text for a language model, to keep its input within a budget.

The vocabularies are those of a package; nothing is downloaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache

from ctx.errors import ExtraMissing

O200K, CL100K = TOKENIZERS = ("o200k_base", "cl100k_base")
"""Supported vocabularies."""

Count = Callable[[str], int]


@lru_cache(maxsize=len(TOKENIZERS))
def counter(tokenizer: str = O200K) -> Count:
    """Return a counter of the tokens of a text. Raises ExtraMissing if the package is not installed."""
    with warnings.catch_warnings():
        # It reads its vocabulary in a way that is deprecated in Python 3.11 and 3.12, and not in 3.13.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            from bpe_openai import get_encoding
        except ImportError:
            raise ExtraMissing("counting tokens", "pack") from None
        encoding = get_encoding(tokenizer)
        encoding.encode_ordinary("")
    return lambda text: len(encoding.encode_ordinary(text))
