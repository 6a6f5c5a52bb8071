"""Counting the tokens that a text costs a language model, so that what is made for one keeps to a budget.

The vocabularies are those of a package; nothing is downloaded.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache

from ctx.errors import CtxError

O200K, CL100K = TOKENIZERS = ("o200k_base", "cl100k_base")
"""The vocabularies that can be counted with."""

Count = Callable[[str], int]


@lru_cache(maxsize=len(TOKENIZERS))
def counter(tokenizer: str = O200K) -> Count:
    """How many tokens of a vocabulary a text has. Raises CtxError where the package is not installed."""
    with warnings.catch_warnings():
        # It reads its vocabulary in a way that Python 3.11 and 3.12 call deprecated, and 3.13 no longer does.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            from bpe_openai import get_encoding
        except ImportError:
            raise CtxError("counting tokens needs one more package: `pip install 'git-ctx[pack]'`") from None
        encoding = get_encoding(tokenizer)
        encoding.encode_ordinary("")
    return lambda text: len(encoding.encode_ordinary(text))
