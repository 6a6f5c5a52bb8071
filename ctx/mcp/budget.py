"""Counting tokens, so that an answer keeps to what was asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache

from ctx.errors import CtxError

ENCODING = "o200k_base"


@lru_cache(maxsize=1)
def counter() -> Callable[[str], int]:
    """How many tokens a text has. Raises CtxError where the tokenizer is not installed."""
    with warnings.catch_warnings():
        # It reads its vocabulary in a way that Python 3.11 and 3.12 call deprecated, and 3.13 no longer does.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            from bpe_openai import get_encoding
        except ImportError:
            raise CtxError(
                "the server for agents needs more packages: `pip install 'git-ctx[mcp]'`"
            ) from None
        encoding = get_encoding(ENCODING)
        encoding.encode_ordinary("")
    return lambda text: len(encoding.encode_ordinary(text))
