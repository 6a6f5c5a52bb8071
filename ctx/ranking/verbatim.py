"""Finding the text of a pasted query in chunks: a message, a log line, a piece of code.

Words show only the topic of a chunk; the text shows whether they occur in this order. So some texts are read,
only for a query that looks pasted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ctx.ranking.candidates import top
from ctx.ranking.pasted import LEAST
from ctx.ranking.query import Query
from ctx.ranking.signals import Signals
from ctx.storage.arrays import Bools, Floats
from ctx.text.query import tokens, words_of

_OF_A_LINE = 2
"""Lowest number of texts that are read for each line."""
_LEAST_COVERAGE = 0.4
"""Lowest share of a line's idf in the rows that are read."""


def verbatim_shares(
    query: Query, signals: Signals, open_rows: Bools, text_of: Callable[[int], str | None], most: int
) -> Floats:
    """Return the share of a line of a pasted query that each row contains verbatim, in 0..1, (rows,).

    About `most` of the `open_rows` (rows,) are read. The share is by idf, of the words in the longest run of
    tokens common to line and text. Words that no such row has do not count: they were filled in.
    """
    share = np.zeros(len(open_rows))
    texts: dict[int, list[str]] = {}
    term, row = signals.in_text.term, signals.in_text.place
    occurs = np.bincount(term[open_rows[row]], minlength=len(query.terms)) > 0
    idf_of = np.where(occurs, signals.word_idf, 0.0)
    for line in query.pasted:
        own = {word for token in line for word in words_of(token)}
        idf = np.zeros(len(query.terms))
        for place in query.words:
            if query.terms[place].word in own:
                idf[place] = idf_of[place]
        total = float(idf.sum())
        coverage = np.bincount(row, idf[term], len(open_rows)).astype(np.float64, copy=False)
        enough = open_rows & (coverage >= max(1e-9, _LEAST_COVERAGE * total))
        for one in top(coverage, enough, max(_OF_A_LINE, most // len(query.pasted))).tolist():
            if one not in texts:
                texts[one] = [token.lower() for token in tokens(text_of(one) or "")]
            there = {word for token in longest_run(line, texts[one]) for word in words_of(token)}
            common = sum(float(idf[place]) for place in query.words if query.terms[place].word in there)
            share[one] = max(share[one], common / total)
    return share


def longest_run(line: Sequence[str], text: Sequence[str]) -> Sequence[str]:
    """Return the longest run of tokens that both have; empty if it is short."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(line):
        places.setdefault(token, []).append(place)
    length, end = 0, 0
    before: dict[int, int] = {}
    for token in text:
        runs = {place: before.get(place - 1, 0) + 1 for place in places.get(token, ())}
        for place, run in runs.items():
            if run > length:
                length, end = run, place + 1
        before = runs
    return line[end - length : end] if length >= LEAST else ()
