"""Ranking with learned decision trees: some score the files, others the definitions of the best files.

The answer has one place for each definition, wherever its file stands. An answer by files has the rows of the
best file first.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ctx.models.logistic import logistic
from ctx.ranking.candidates import Candidates, CombinedFields, read_candidates, select_candidates
from ctx.ranking.corpus import Corpus
from ctx.ranking.definitions import DEFINITION_FEATURES, definition_features, starts_of
from ctx.ranking.features import FEATURES, file_features
from ctx.ranking.gbdt import definition_ranker, file_ranker
from ctx.ranking.query import Query, plain_words
from ctx.ranking.signals import Signals, read_signals
from ctx.ranking.translated import weights_in_tree
from ctx.ranking.tuning import PLAIN, TextOf, Tuning
from ctx.ranking.verbatim import verbatim_shares
from ctx.storage.arrays import Bools, Floats, Ints, begins, highest
from ctx.storage.records import KIND, TEST
from ctx.storage.views import paths
from ctx.text.query import joined_terms
from ctx.types import KINDS

POOL = 50
"""Lowest number of files scored by the trees; ties with the last are included."""
ROWS = 24
"""Lowest number of rows of each file scored by the trees."""
_SHARES = 0.25
"""Weight of a unit of the trees' sums when candidates are selected by shares of the evidence."""

_PRIORS = {
    paths.TEST: 3.0,
    paths.EXAMPLE: 1.5,
    paths.VENDORED: 1.5,
    paths.DOCS: 4.0,
    paths.CONFIG: 3.0,
    paths.DATA: 1.5,
    paths.DECLARATIONS: 0.5,
    paths.LEGACY: 0.75,
}
"""Loss of a file whose path flag the query did not ask for, in units of the trees' sums."""
_PRIORS_OF_A_NAME = _PRIORS | {paths.TEST: 2.0}
"""Losses if the query is one bare name, which may be defined only in a test."""

NAME_GAIN = 3.0
"""Gain of a file, and of the row, that defines the query as a name of two words or more.

In units of the trees' sums. Commits contain few such queries, so the trees underestimate them.
"""

VERBATIM_GAIN = 10.0
"""Gain of a file, and of the row, that contains a line of a pasted query verbatim."""

_TEXTS = 16
"""Number of texts of code read for verbatim matches."""
_QUOTING_TEXTS = 6
"""Number of texts of tests, documents and the like read for them, which quote the code."""

_NEXT_ROW = 4.0
"""Loss of each further row of the same file in an answer by files, in the same units."""
_PRIOR_AGAIN = 0.1
"""Share of a file's loss by its kind that the sum of both rankers takes back."""
_NEXT_DEFINITION = 1.5
"""Loss of each further definition of the same file, in the same units."""
_LOST = (
    dict.fromkeys(("block", "type", "constant", "field"), 0.7)
    | dict.fromkeys(("class", "interface", "struct", "enum", "trait", "impl", "object", "module"), 0.4)
    | dict.fromkeys(("section", "entry"), 0.35)
)
_LOST_BY_KIND = np.array([_LOST.get(kind, 0.0) for kind in KINDS])
"""Loss of a definition by its kind, in the same units: people ask for what is done, and so for functions."""
_PROTOTYPE, _SHORT = 2.5, 30
"""Loss of a prototype, which points to its definition, in the same units; most tokens of one."""
_HEADERS = (b".h", b".hh", b".hpp", b".hxx")
_FUNCTIONS = [KINDS.index("function"), KINDS.index("method")]
_RULE = [DEFINITION_FEATURES.index(name) for name in ("defined/best", "soft/best", "similar/best", "defines")]
"""Features whose sum selects the rows of a file that the trees score."""


class RankedRow(NamedTuple):
    """One row of the answer: score in 0..1, agreement of the vectors in 0..1."""

    row: int
    file: int
    score: float
    agreement: float


class Pool(NamedTuple):
    """The candidates of a query, which is adapted to the corpus; `only` are the rows that may be returned.

    `fields` are the sums of `read_candidates`, and `features` (n, FEATURES). In units of the trees' sums, all
    (n,): each file's loss by its kind, its gains by its definitions and by verbatim text, the correction, and
    its score.
    """

    corpus: Corpus
    query: Query
    only: Bools | None
    signals: Signals
    candidates: Candidates
    fields: CombinedFields
    features: npt.NDArray[np.float32]
    priors: Floats
    gains: Floats
    verbatim: Floats
    corrections: Floats
    scores: Floats


class PlacedRow(NamedTuple):
    """A row of the answer: the index of its candidate in the pool, its loss within its file, its score."""

    row: int
    candidate: int
    loss: float
    score: float


def rank(
    corpus: Corpus,
    query: Query,
    allowed: Bools | None,
    limit: int,
    only: Bools | None = None,
    tuning: Tuning = PLAIN,
) -> list[RankedRow]:
    """Return the best row of each of the best definitions.

    `allowed` (files,) and `only` (rows,) bool restrict the answer, not the statistics. Each allowed file must
    have a row in `only`.
    """
    pool = read_pool(corpus, query, allowed, limit, only, tuning)
    return [ranked_row(pool, placed) for placed in place_definitions(pool, limit)]


def adapt(query: Query, corpus: Corpus, tuning: Tuning) -> Query:
    """Return the query as it is ranked: without evidence left out, translated words weighted for the tree.

    Words that the tree writes as one or as two, unlike the query, are added.
    """
    query = _with_joined(tuning.read(query), corpus)
    if not query.alternatives:
        return query
    occurs = np.zeros(len(query.terms), dtype=bool)
    occurs[corpus.find(query.hashes).term] = True
    weights = weights_in_tree(query.weights, query.alternatives, occurs)
    return query._replace(weights=weights, words=plain_words(query.terms, weights))


def _with_joined(query: Query, corpus: Corpus) -> Query:
    """Return a query with the other spellings of its words that the tree has.

    "time condition" is `timecondition` too, "urlencoded" is `url_encoded` too.
    """
    other = joined_terms(query.terms)
    found = np.unique(corpus.find(np.array([term.hash for term in other], dtype=np.int64)).term)
    terms = [*query.terms, *(other[one] for one in found.tolist())]
    return query._replace(
        terms=terms,
        hashes=np.array([term.hash for term in terms], dtype=np.int64),
        weights=np.append(query.weights, [term.weight for term in terms[len(query.terms) :]]),
    )


def read_pool(
    corpus: Corpus,
    query: Query,
    allowed: Bools | None,
    limit: int,
    only: Bools | None = None,
    tuning: Tuning = PLAIN,
) -> Pool:
    """Return the candidates and their scores, see `rank`."""
    query = adapt(query, corpus, tuning)
    signals = read_signals(corpus, query)
    if only is not None:
        signals = signals.among(only)
    if allowed is None:
        shown = corpus.shown
    else:
        shown = corpus.shown_among(np.flatnonzero(allowed & (corpus.file_document >= 0)))
    if tuning.text_of is not None and query.pasted:
        signals = signals._replace(row_verbatim=_verbatim_gain(corpus, query, signals, shown, tuning.text_of))
    places = np.flatnonzero((shown >= 0) & (corpus.document_rows > 0))
    priors = _by_flags(query.requested, query.is_symbol)[corpus.view.file_flags[shown[places]]]
    called = np.zeros(corpus.documents, dtype=bool)
    called[corpus.document_of[signals.row_called]] = True
    gains = np.where(called[places], NAME_GAIN, 0.0)
    verbatim = VERBATIM_GAIN * corpus.best_of_documents(signals.row_verbatim)[places]
    worth = _SHARES * (gains + verbatim - priors)
    chosen = select_candidates(corpus, signals, places, worth, max(POOL, limit))
    documents, priors, gains, verbatim = places[chosen], priors[chosen], gains[chosen], verbatim[chosen]
    files = shown[documents]
    candidates, fields = read_candidates(corpus, query, signals, documents, files)
    if not len(documents):
        table, none = np.zeros((0, len(FEATURES)), np.float32), np.zeros(0)
        return Pool(corpus, query, only, signals, candidates, fields, table, *[none] * 5)
    table = file_features(corpus, query, signals, candidates, fields)
    plain = (tuning.ensemble or file_ranker()).margins(table) - priors + gains + verbatim
    scores = plain if tuning.correct is None else tuning.correct(corpus.view, query, files, plain)
    corrections = scores - plain
    return Pool(
        corpus, query, only, signals, candidates, fields, table, priors, gains, verbatim, corrections, scores
    )


def _verbatim_gain(corpus: Corpus, query: Query, signals: Signals, shown: Ints, text_of: TextOf) -> Floats:
    """Return `Signals.row_verbatim`.

    Tests and documents quote messages with the values filled in, and so match more than the code that emits
    them; their gain is limited to that of code, if there is some.
    """
    allowed, prior = shown >= 0, np.full(len(shown), np.inf)
    prior[allowed] = _by_flags(query.requested, query.is_symbol)[corpus.view.file_flags[shown[allowed]]]
    of_row = prior[corpus.document_of]
    read = partial(text_of, corpus)
    emitted = verbatim_shares(query, signals, of_row == 0.0, read, _TEXTS)
    quotes = (of_row > 0.0) & np.isfinite(of_row)
    quoted = verbatim_shares(query, signals, quotes, read, _QUOTING_TEXTS)
    most = float(emitted.max(initial=0.0))
    return np.maximum(emitted, np.minimum(quoted, most) if most else quoted)


def ranked_row(pool: Pool, placed: PlacedRow) -> RankedRow:
    """Return a row with its file, and its score in 0..1."""
    file, agreement = pool.candidates.files[placed.candidate], pool.signals.row_agreement[placed.row]
    return RankedRow(placed.row, int(file), round(logistic(placed.score), 6), float(agreement))


def priors_of(asked: int, is_symbol: bool) -> dict[int, float]:
    """Return the loss of a file for each path flag that counts against it, see `Query`."""
    priors = _PRIORS_OF_A_NAME if is_symbol else _PRIORS
    return {flag: prior for flag, prior in priors.items() if not asked & flag}


@lru_cache(maxsize=64)
def _by_flags(asked: int, is_symbol: bool) -> Floats:
    """Return the loss of a file for each combination of flags, (256,)."""
    flags, lost = np.arange(256), np.zeros(256)
    for flag, prior in priors_of(asked, is_symbol).items():
        lost[(flags & flag) > 0] += prior
    return lost


def _score_rows(pool: Pool, limit: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Return the rows to compare, the candidate index, the definition, and the score of each.

    The score is the sum of both rankers: people also ask for the central file of a topic.
    """
    groups, signals = pool.candidates.groups, pool.signals
    rows, owner = groups.rows, groups.owner
    table = definition_features(pool.corpus, pool.query, signals, pool.candidates, pool.fields, pool.scores)
    # Show the row that gave the file its gain.
    gains = NAME_GAIN * signals.row_called[rows] + VERBATIM_GAIN * signals.row_verbatim[rows]
    # A test beside the code that it tests, as in Rust, is a test as much as one in a file of tests.
    flags = pool.corpus.view.file_flags[pool.candidates.files]
    lost = priors_of(pool.query.requested, pool.query.is_symbol).get(paths.TEST, 0.0)
    gains = gains - lost * (((pool.corpus.kinds[rows] & TEST) > 0) & ((flags & paths.TEST) == 0)[owner])
    gains = gains - _LOST_BY_KIND[pool.corpus.kinds[rows] & KIND]
    gains = gains - _PROTOTYPE * np.isin(rows, prototypes(pool.corpus, rows))
    at = np.arange(len(rows)) if pool.only is None else pool.only[rows].nonzero()[0]
    rule = table[:, _RULE].sum(axis=1) + gains
    at = at[_worthiest(owner[at], rule[at], max(ROWS, limit))]
    definition: Ints = np.cumsum(starts_of(pool.corpus, rows, owner))
    margins = definition_ranker().margins(table.take(at, axis=0))
    # The second ensemble sees the kind of a file in its score, so it counts half in the sum.
    scores = (pool.scores + _PRIOR_AGAIN * pool.priors)[owner[at]] + margins + gains[at]
    return rows[at], owner[at], definition[at], scores


def prototypes(corpus: Corpus, rows: Ints) -> Ints:
    """Return those rows that only declare a function: short ones in headers and in files of declarations."""
    rows = rows[np.isin(corpus.kinds[rows] & KIND, _FUNCTIONS) & (corpus.lengths[rows] <= _SHORT)]
    files = corpus.shown[corpus.document_of[rows]]
    flagged = (corpus.view.file_flags[files] & paths.DECLARATIONS) > 0
    path = corpus.view.path
    headers = {file for file in np.unique(files).tolist() if path(file).endswith(_HEADERS)}
    found: Ints = rows[flagged | np.isin(files, list(headers))]
    return found


def _worthiest(owner: Ints, worth: Floats, count: int) -> Ints:
    """Return the indices of the `count` best rows of each owner, ties included; owners ascend."""
    first = begins(owner).nonzero()[0]
    counts = np.diff(first, append=len(owner))
    least = np.full(len(first), -np.inf)
    for place in (counts > count).nonzero()[0].tolist():
        own = worth[first[place] : first[place] + counts[place]]
        least[place] = np.partition(own, -count)[-count]
    return (worth >= least.repeat(counts)).nonzero()[0]


def place_definitions(pool: Pool, limit: int) -> list[PlacedRow]:
    """Return the best row of each of the best definitions."""
    if not len(pool.scores):
        return []
    rows, owner, definition, fit = _score_rows(pool, limit)
    order = np.lexsort((rows, -fit, definition))
    order = order[begins(definition[order])]
    order = order[np.lexsort((rows[order], -fit[order], owner[order]))]
    matches = _matches(pool.signals, rows[order])
    # A file may match by its path alone: then only its best row is returned.
    alone = np.ones(len(pool.scores), dtype=bool)
    alone[owner[order[matches]]] = False
    order = order[matches | (alone[owner[order]] & begins(owner[order]))]
    # A file with much evidence has many definitions with some: each further one of a file loses.
    first = begins(owner[order]).nonzero()[0]
    score = fit.copy()
    score[order] -= _NEXT_DEFINITION * (np.arange(len(order)) - first[_runs(owner[order])])
    best = order[highest(score[order], limit)]
    columns = (rows[best], owner[best], np.zeros(len(best)), score[best])
    return _placed(pool, columns, limit)


def place_rows(pool: Pool, limit: int) -> list[PlacedRow]:
    """Return the best rows of the best files: the best row of each file first, with the file's score."""
    if not len(pool.scores):
        return []
    rows, owner, _, fit = _score_rows(pool, limit)
    of_file = pool.scores
    first = begins(owner).nonzero()[0]
    behind = np.maximum.reduceat(fit, first)[_runs(owner)] - fit
    order = np.lexsort((rows, -fit, owner))
    rows, owner, behind = rows[order], owner[order], behind[order]
    first = begins(owner).nonzero()[0]
    ordinal = np.arange(len(rows)) - first[_runs(owner)]
    losses = np.where(ordinal > 0, _NEXT_ROW * ordinal + behind, 0.0)
    # A file may match by its path alone: then only its first row is returned.
    shown = np.flatnonzero(_matches(pool.signals, rows) | (ordinal == 0))
    score = of_file[owner[shown]] - losses[shown]
    # Order ties with the last one by path, independent of segments.
    enough = highest(score, limit)
    shown, score = shown[enough], score[enough]
    return _placed(pool, (rows[shown], owner[shown], losses[shown], score), limit)


def _runs(owner: Ints) -> Ints:
    """Return the number of the run that each element is in; equal owners are adjacent."""
    places: Ints = np.cumsum(begins(owner)) - 1
    return places


def _matches(signals: Signals, rows: Ints) -> Bools:
    """Return True for each row that has evidence of its own."""
    matches: Bools = (
        (signals.row_words[rows] > 0)
        | (signals.row_names[rows] > 0)
        | (signals.row_defines[rows] > 0)
        | (signals.row_agreement[rows] > 0.5)
    )
    return matches


def _placed(pool: Pool, columns: tuple[Ints, Ints, Floats, Floats], limit: int) -> list[PlacedRow]:
    """Return rows by score; equal ones by path, then by position."""
    placed = [PlacedRow(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]
    path, files = pool.corpus.view.path, pool.candidates.files
    placed.sort(key=lambda one: (-round(one.score, 6), path(int(files[one.candidate])), one.row))
    return placed[:limit]
