"""Search settings that an evaluation can compare, written NAME=VALUE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctx.errors import Damaged, UsageError
from ctx.ranking.gbdt import ranker_in
from ctx.ranking.tuning import NAMES, PLAIN, VECTORS, WORDS, Tuning

DEFAULT = "as shipped"
_ON, _OFF = "on", "off"
_EVIDENCE = (WORDS, NAMES, VECTORS)
KNOWN = {
    **{f"{kind}=off": f"without the evidence of {kind}" for kind in _EVIDENCE},
    "ranker=FILE": "with the decision trees of another file",
}
"""Accepted settings with their descriptions."""


class Setting(NamedTuple):
    """A named search setting."""

    name: str
    tuning: Tuning = PLAIN


def parse(text: str) -> Setting:
    """Parse a comma-separated list of NAME=VALUE. Raises UsageError."""
    tuning = PLAIN
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if name in _EVIDENCE and value in (_ON, _OFF):
            if value == _OFF:
                tuning = tuning._replace(without=tuning.without | {name})
        elif name == "ranker" and value:
            try:
                tuning = tuning._replace(ensemble=ranker_in(value))
            except OSError as error:
                raise UsageError(f"cannot read the ranker '{value}': {error.strerror}") from None
            except Damaged as error:
                raise UsageError(f"cannot use the ranker '{value}': {error}") from None
        else:
            raise UsageError(f"'{part}' is not a setting to compare; use {_listed(list(KNOWN))}")
    return Setting(text, tuning)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
