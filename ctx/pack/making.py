"""Makes packs: opens and ranks the tree of a task, selects excerpts, and counts tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import UsageError
from ctx.models.static_embedding import static_embedding
from ctx.pack.candidates import Candidate, RecordCache, candidates
from ctx.pack.hints import find_paths, read_log, read_task
from ctx.pack.links import Links, edges_between
from ctx.pack.neighbours import CALLER_OF, TEST_OF, Neighbour, definitions_used, is_user, users
from ctx.pack.render import FORMS, prompt
from ctx.pack.report import read_report
from ctx.pack.selection import Selection, in_order
from ctx.pack.sources import Source, Sources, text_of
from ctx.pack.store import slug_for
from ctx.pack.types import (
    BUDGET_MAX,
    FILES_MAX,
    FORMATS,
    SCHEMA,
    STRATEGY,
    TASK,
    Excerpt,
    Hint,
    Pack,
    PackedFile,
    PackOptions,
    QueryTerm,
)
from ctx.ranking.explain import explain
from ctx.ranking.query import Query, prepare
from ctx.ranking.query_terms import query_terms, similar_terms, similar_words_in_paths
from ctx.search.coverage import lacks_in_words
from ctx.search.dependencies.edges import Dependencies
from ctx.search.hits import corpus_of
from ctx.search.opening import OpenedTree, Repair, open_tree, repairing, resolve_for_search
from ctx.text.pluralize import pluralize
from ctx.text.query import tokens
from ctx.text.terms import STOP_WORDS
from ctx.text.tokens import TOKENIZERS, Count, counter
from ctx.types import Change

if TYPE_CHECKING:
    from ctx.search.session import SearchSession

_ROWS, _ROWS_MAX = 250, 2_000
_TOKENS_A_ROW = 30
"""Tokens of the budget for each ranked row; the number of rows is within these bounds."""
_DEEP = 15
"""Number of best files of which all rows are ranked."""
_FOR_THE_BEST = 0.94
"""Share of the budget for the task's own candidates before their neighbours are added."""
_TESTS, _CALLERS, _DEFINITIONS = 3, 2, 8
"""Maximum neighbours of each kind in a pack of 8,000 tokens; larger packs have more."""
_LONGEST_TASK = 100_000
"""Maximum characters of a task."""


class PackResult(NamedTuple):
    """A pack and its text."""

    pack: Pack
    prompt: str


class RankedTree(NamedTuple):
    """An opened tree with the candidates for a task."""

    opened: OpenedTree
    records: RecordCache
    query: Query
    found: list[Candidate]
    sources: Sources
    ranked_with: tuple[str, ...]

    def dependencies(self) -> Dependencies:
        """Return the edges between the files of the tree."""
        read, records = self.sources.read, self.records.record_of
        return Dependencies(self.records.corpus, read, records, self.sources.parse)


def check(task: str, options: PackOptions) -> None:
    """Raise UsageError for a task or options that no pack can be made with."""
    if not task.strip():
        raise UsageError("the task is empty: describe in a sentence what to do")
    if len(task) > _LONGEST_TASK:
        raise UsageError(f"the task has {len(task):,} characters; {_LONGEST_TASK:,} are the most")
    said = [token for token in tokens(task) if token.lower() not in STOP_WORDS]
    if not said:
        raise UsageError(f"the task '{task.strip()}' has only common words: describe what to do")
    if not 1 <= options.budget <= BUDGET_MAX:
        raise UsageError(f"a budget of {pluralize(options.budget, 'token')}: give 1 to {BUDGET_MAX:,}")
    if not 1 <= options.max_files <= FILES_MAX:
        raise UsageError(f"at most {pluralize(options.max_files, 'file')}: give 1 to {FILES_MAX:,}")
    if options.tokenizer not in TOKENIZERS:
        raise UsageError(f"unknown tokenizer {options.tokenizer!r}: one of {', '.join(TOKENIZERS)}")
    if options.format not in FORMATS:
        raise UsageError(f"unknown format {options.format!r}: one of {', '.join(FORMATS)}")
    if options.within is not None and options.revision is not None:
        raise UsageError("a range already names its trees: omit the revision")


def make(
    session: SearchSession,
    task: str,
    options: PackOptions,
    log: str | None = None,
) -> PackResult:
    """Make a pack without storing it. `log` is the text of an error log.

    Raises UsageError for a task or options that no pack can be made with, CtxError if there is no tree.
    """
    check(task, options)
    if options.within is None:
        resolve_for_search(session, options.revision)  # an unknown name fails before a tokenizer is loaded
    count = counter(options.tokenizer)
    hints = tuple(dict.fromkeys([*read_task(task), *(read_log(log) if log is not None else [])]))

    def built(ranking: RankedTree) -> PackResult:
        return with_edges(ranking, pack_of(ranking, session, task, options, hints, count))

    return ranked(session, task, options, hints, built)


def ranked(
    session: SearchSession,
    task: str,
    options: PackOptions,
    hints: Sequence[Hint],
    use: Callable[[RankedTree], PackResult],
) -> PackResult:
    """Call `use` with the ranked candidates for a task; damage found on the way is repaired."""
    query = query_of_task(task)

    def ask() -> tuple[Repair, Callable[[], PackResult]]:
        opened, changes, repair = _opened(session, options)
        return repair, lambda: use(rank(session, opened, changes(), query, options, hints))

    return repairing(ask)


def _opened(
    session: SearchSession,
    options: PackOptions,
) -> tuple[OpenedTree, Callable[[], Mapping[int, Mapping[int, Change]]], Repair]:
    """Return the opened tree of a pack, a function for the changes of its range, and a repair function."""
    if options.within is None:
        opened = open_tree(session, options.revision)
        return opened, dict, opened.repair
    from ctx.search.changes import compare, open_ends

    old, new = open_ends(session, options.within, False)

    def repair(everything: bool) -> None:
        new.repair(everything)
        old.repair(everything)

    return new, lambda: compare(session, old, new).new, repair


def rows_for(options: PackOptions) -> int:
    """Return the number of rows to rank for a pack."""
    return max(_ROWS, min(_ROWS_MAX, options.budget // _TOKENS_A_ROW))


def rank(
    session: SearchSession,
    opened: OpenedTree,
    changes: Mapping[int, Mapping[int, Change]],
    query: Query,
    options: PackOptions,
    hints: Sequence[Hint],
) -> RankedTree:
    """Return the candidates of a query in an opened tree; `changes` are of a range, by file and chunk."""
    corpus = corpus_of(opened.view)
    tuning = session.tuning
    explained = explain(corpus, query, None, rows_for(options), tuning=tuning, deep=_DEEP)
    records = RecordCache(corpus, partial(session.record, opened.view))
    found = candidates(records, tuning.read(query), explained, hints, changes)
    return RankedTree(opened, records, query, found, Sources(session.reader.read_blob), tuning.ranked_with)


def blank(
    ranking: RankedTree,
    session: SearchSession,
    task: str,
    options: PackOptions,
    hints: tuple[Hint, ...],
    parent: str | None = None,
) -> Pack:
    """Return a pack without files; `parent` is the slug of the pack that it updates."""
    about = ranking.opened.about
    made_from = [about.tree.hex(), task, list(options), list(hints), parent, SCHEMA, STRATEGY]
    identity = json.dumps(made_from + list(ranking.ranked_with))
    lacking = lacks_in_words(about, session.repository.settings.is_partial_clone)
    message = session.remark(about.message or lacking or _unknown_files(ranking, hints))
    return Pack(
        slug_for(task, identity),
        task,
        options,
        hints,
        terms_of(ranking),
        about.revision,
        about.commit.hex() if about.commit else None,
        about.tree.hex(),
        (),
        (),
        message,
        0,
        ranked_with=ranking.ranked_with,
    )


def _unknown_files(ranking: RankedTree, hints: Sequence[Hint]) -> str | None:
    """Return a message if the task names files that are not in the tree."""
    named = [hint for hint in hints if hint.origin == TASK and hint.path and "/" in hint.path.strip("/")]
    paths = ranking.opened.view.paths
    known = {hint for own in find_paths(named, paths).values() for hint in own}
    lacking = [hint.path for hint in named if hint not in known and not str(hint.path).startswith("/")]
    if not lacking:
        return None
    return f"the task names {', '.join(map(str, lacking[:3]))}, not an indexed file of this tree"


def query_of_task(task: str) -> Query:
    """Return the query of a task. Only the title decides what is asked for, as long reports have any word."""
    report = read_report(task)
    asked = prepare(report.title, static_embedding()).requested if report.said else None
    query = prepare(report.question, static_embedding())
    return query if asked is None else query._replace(requested=asked)


def terms_of(ranking: RankedTree) -> tuple[QueryTerm, ...]:
    """Return the query terms of a task, and similar terms in the paths of its likeliest files."""
    likely = sorted(ranking.found, key=lambda one: (-one.odds, one.path))
    paths = list(dict.fromkeys(one.path for one in likely))[:_DEEP]
    near = similar_terms(ranking.query, similar_words_in_paths(ranking.query, paths))
    return tuple(QueryTerm(*term) for term in query_terms(ranking.query) + near)


def selection_for(ranking: RankedTree, pack: Pack, count: Count) -> Selection:
    """Return an empty selection with the frame of a pack counted. Raises UsageError if that does not fit."""
    frame = count(prompt(pack, lambda _, __: ""))
    budget = pack.options.budget
    if frame > budget:
        raise UsageError(
            f"a budget of {pluralize(budget, 'token')} cannot hold the frame of this pack, which has "
            f"{frame:,}: raise --budget-tokens, or shorten the task"
        )
    weights = dict(zip(ranking.query.hashes.tolist(), ranking.query.weights.tolist(), strict=True))
    form = FORMS[pack.options.format]
    # The heading of the list of files is not counted with any file.
    return Selection(ranking.sources, form, count, weights, budget, frame + 6, pack.options.max_files)


def choose(ranking: RankedTree, selection: Selection) -> None:
    """Fill a selection with the best candidates, their neighbours, and further candidates that fit."""
    ordered = in_order(ranking.found)
    selection.fill(ordered, _FOR_THE_BEST)
    chosen = [shown.candidate for own in selection.shown.values() for shown in own]
    if chosen and not selection.is_full():
        links = Links(ranking.dependencies())
        scale = max(1.0, (selection.budget / 8_000) ** 0.5)
        known = {one.row: one for one in ranking.found}
        beside = users(ranking.records, ranking.query, chosen, 100)
        for relation, most in ((TEST_OF, _TESTS), (CALLER_OF, _CALLERS)):
            own = (one for one in beside if one.relation == relation and is_user(ranking.records, links, one))
            _add(ranking, selection, known, own, int(most * scale), None)
        if not selection.is_full():
            texts = {one.row: _text(ranking, one) for one in chosen}
            used = definitions_used(ranking.records, links, chosen, texts, 60)
            _add(ranking, selection, known, used, int(_DEFINITIONS * scale), "signature")
    selection.fill(ordered)


def _add(
    ranking: RankedTree,
    selection: Selection,
    known: Mapping[int, Candidate],
    found: Iterable[Neighbour],
    most: int,
    form: str | None,
) -> None:
    left = most
    for one in found:
        if selection.is_full():
            return
        said = {
            "kind": "dependency",
            "relation": one.relation,
            "symbol": one.symbol,
            "sourcePath": one.source.decode("utf-8", "replace"),
            "hops": 1,
        }
        candidate = known.get(one.row)
        if candidate is None:
            parts = {"dependency": one.weight}
            candidate = ranking.records.candidate(one.row, one.file, -5.0, parts, [said])
        else:
            candidate = candidate._replace(evidence=(*candidate.evidence, said))
        before = selection.used
        only = one.symbol if form else None
        if (
            selection.add(candidate, only=only, why=f"{one.relation} {one.symbol}")
            and selection.used > before
        ):
            left -= 1
            if left <= 0:
                return


def _text(ranking: RankedTree, one: Candidate) -> str:
    source = ranking.sources.get(one.blob, one.language)
    assert isinstance(source, Source), "it was shown"
    return "\n".join(source.lines[one.position.start_line - 1 : one.position.end_line])


def pack_of(
    ranking: RankedTree,
    session: SearchSession,
    task: str,
    options: PackOptions,
    hints: tuple[Hint, ...],
    count: Count,
) -> PackResult:
    """Return a pack of the candidates in a tree."""
    pack = blank(ranking, session, task, options, hints)
    selection = selection_for(ranking, pack, count)
    choose(ranking, selection)
    return finished(ranking.sources, pack, selection, count)


def with_edges(ranking: RankedTree, made: PackResult) -> PackResult:
    """Return a pack with the edges between its shown files."""
    paths = [file.path for file in made.pack.files if file.excerpts]
    return made._replace(pack=made.pack._replace(edges=edges_between(ranking.dependencies(), paths)))


def finished(
    sources: Sources,
    pack: Pack,
    selection: Selection,
    count: Count,
    against: Callable[[Pack], Pack] = lambda pack: pack,
) -> PackResult:
    """Return the pack of a selection; excerpts are dropped until the exact token count is within the budget.

    `against` compares it with the parent pack.
    """
    mentioned = len(selection.left_out())
    while True:
        left_out = selection.left_out()
        files = (*selection.files(), *left_out)
        whole = against(pack._replace(files=files, considered=tuple(selection.considered())))
        silent = {file.path for file in left_out[mentioned:]}
        named = whole._replace(files=tuple(file for file in whole.files if file.path not in silent))
        text = prompt(named, partial(excerpt_text, sources))
        tokens_used = count(text)
        if tokens_used <= pack.options.budget:
            return PackResult(whole._replace(tokens=tokens_used), text)
        if mentioned:
            mentioned -= 1
        elif not selection.drop_last():
            raise UsageError(
                f"a budget of {pluralize(pack.options.budget, 'token')} cannot hold this update, which has "
                f"{tokens_used:,}: raise --budget-tokens, or make a new pack of the task"
            )


def excerpt_text(sources: Sources, file: PackedFile, excerpt: Excerpt) -> str:
    """Return the text of an excerpt."""
    source = sources.get(bytes.fromhex(file.blob or ""), file.language)
    assert isinstance(source, Source), "what is shown was read"
    return text_of(source, excerpt.ranges) or ""
