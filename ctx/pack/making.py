"""Makes packs: opens and ranks the tree of a task, selects excerpts, and counts tokens."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import UsageError
from ctx.pack.candidates import Candidate, RecordCache, candidates
from ctx.pack.neighbours import (
    CALLER_OF,
    DEFINITION_OF,
    MOST_BYTES,
    TEST_OF,
    Links,
    Neighbour,
    definitions_used,
    is_user,
    users,
)
from ctx.pack.render import prompt
from ctx.pack.selection import Selection, in_order
from ctx.pack.sources import Source, Sources, text_of
from ctx.pack.store import slug_for
from ctx.pack.task import find_paths, read_log, read_report, read_task
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
)
from ctx.ranking.explain import explain
from ctx.ranking.query import Query, prepare
from ctx.ranking.query_terms import QueryTerm, query_terms, similar_terms, similar_words_in_paths
from ctx.search.coverage import lacks_in_words
from ctx.search.dependencies.edges import Dependencies
from ctx.search.dependencies.types import Edge
from ctx.search.hits import corpus_of
from ctx.search.opening import OpenedTree, open_tree, repairing, resolve_for_search
from ctx.text.pluralize import pluralize
from ctx.text.query import tokens
from ctx.text.terms import STOP_WORDS
from ctx.text.tokens import TOKENIZERS, Count, counter
from ctx.types import ChunkChange

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
_MOST_EDGES = 200
"""Maximum number of edges between the files of a pack in its manifest."""


class PackResult(NamedTuple):
    """A pack and its text."""

    pack: Pack
    prompt: str


class RankedTree(NamedTuple):
    """An opened tree with the candidates for a task; `empty` is the pack of the task without files."""

    opened: OpenedTree
    records: RecordCache
    query: Query
    found: list[Candidate]
    sources: Sources
    empty: Pack

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
    if all(token.lower() in STOP_WORDS for token in tokens(task)):
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


def make(session: SearchSession, task: str, options: PackOptions, log: str | None = None) -> PackResult:
    """Make a pack without storing it. `log` is the text of an error log.

    Raises UsageError for a task or options that no pack can be made with, CtxError if there is no tree.
    """
    check(task, options)
    if options.within is None:
        resolve_for_search(session, options.revision)  # an unknown name fails before a tokenizer is loaded
    count = counter(options.tokenizer)
    hints = tuple(dict.fromkeys([*read_task(task), *(read_log(log) if log is not None else [])]))

    return ranked(session, task, options, hints, lambda ranking: pack_of(ranking, count))


def ranked(
    session: SearchSession,
    task: str,
    options: PackOptions,
    hints: tuple[Hint, ...],
    build: Callable[[RankedTree], PackResult],
    parent: str | None = None,
) -> PackResult:
    """Return the result of `build` for the ranked candidates of a task, with the edges between its files.

    `parent` is the slug of the pack that it updates. Damage found on the way is repaired.
    """

    def result(opened: OpenedTree, changes: Mapping[int, Mapping[int, ChunkChange]]) -> PackResult:
        ranking = rank(session, opened, changes, task, options, hints, parent)
        made = build(ranking)
        paths = [os.fsencode(file.path) for file in made.pack.files if file.excerpts]
        return made._replace(pack=made.pack._replace(edges=_edges_between(ranking.dependencies(), paths)))

    if options.within is None:
        return repairing(partial(open_tree, session, options.revision), lambda opened: result(opened, {}))
    from ctx.search.changes import compare, open_range

    return repairing(
        partial(open_range, session, options.within),
        lambda opened: result(opened.new, compare(session, *opened).new),
    )


def _edges_between(dependencies: Dependencies, paths: Sequence[bytes]) -> tuple[Edge, ...]:
    """Return the edges between some files of a tree, within MOST_BYTES of text and _MOST_EDGES."""
    left = MOST_BYTES
    found: list[Edge] = []
    for path in paths:
        size = dependencies.size(path)
        if size is not None and size <= left:
            left -= size
            others = {*paths} - {path}
            found += [edge for edge in dependencies.outgoing([path]) if edge.target_path in others]
    return tuple(found[:_MOST_EDGES])


def rows_for(options: PackOptions) -> int:
    """Return the number of rows to rank for a pack."""
    return max(_ROWS, min(_ROWS_MAX, options.budget // _TOKENS_A_ROW))


def rank(
    session: SearchSession,
    opened: OpenedTree,
    changes: Mapping[int, Mapping[int, ChunkChange]],
    task: str,
    options: PackOptions,
    hints: tuple[Hint, ...],
    parent: str | None = None,
) -> RankedTree:
    """Return the candidates for a task in an opened tree; `changes` are of a range, by file and chunk."""
    corpus, tuning, query = corpus_of(opened.view), session.tuning, query_of_task(task)
    explained = explain(corpus, query, None, rows_for(options), tuning=tuning, deep=_DEEP)
    records = RecordCache(corpus, partial(session.record, opened.view))
    found = candidates(records, tuning.read(query), explained, hints, changes)
    about = opened.about
    identity = [about.tree, task, list(options), list(hints), parent, SCHEMA, STRATEGY]
    lacking = lacks_in_words(about, session.repository.settings.is_partial_clone)
    empty = Pack(
        slug_for(task, json.dumps([*identity, *tuning.ranked_with])),
        task,
        options,
        hints,
        _terms_of(query, found),
        about.revision,
        about.commit,
        about.tree,
        (),
        (),
        session.remark(about.message or lacking or _unknown_files(opened.view.paths, hints)),
        0,
        ranked_with=tuning.ranked_with,
    )
    return RankedTree(opened, records, query, found, Sources(session.reader.read_blob), empty)


def _unknown_files(paths: Sequence[bytes], hints: Sequence[Hint]) -> str | None:
    """Return a message if the task names files that are not in the tree."""
    named = [hint for hint in hints if hint.origin == TASK and hint.path and "/" in hint.path.strip("/")]
    known = {hint for own in find_paths(named, paths).values() for hint in own}
    unknown = [hint.path for hint in named if hint not in known and not str(hint.path).startswith("/")]
    if not unknown:
        return None
    return f"the task names {', '.join(map(str, unknown[:3]))}, not an indexed file of this tree"


def query_of_task(task: str) -> Query:
    """Return the query of a task. Only the title decides what is asked for, as long reports have any word."""
    report = read_report(task)
    asked = prepare(report.title).requested if report.prose else None
    query = prepare(report.question)
    return query if asked is None else query._replace(requested=asked)


def _terms_of(query: Query, found: Iterable[Candidate]) -> tuple[QueryTerm, ...]:
    """Return the query terms of a task, and similar terms in the paths of its likeliest files."""
    likely = sorted(found, key=lambda one: (-one.odds, one.path))
    paths = [os.fsencode(path) for path in dict.fromkeys(one.path for one in likely)][:_DEEP]
    near = similar_terms(query, similar_words_in_paths(query, paths))
    return query_terms(query) + near


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
    # The heading of the list of files is not counted with any file.
    return Selection(ranking.sources, pack.options, count, weights, frame + 6)


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
            _add(ranking, selection, known, own, int(most * scale))
        if not selection.is_full():
            texts = {one.row: _text(ranking, one) for one in chosen}
            used = definitions_used(ranking.records, links, chosen, texts, 60)
            _add(ranking, selection, known, used, int(_DEFINITIONS * scale))
    selection.fill(ordered)


def _add(
    ranking: RankedTree,
    selection: Selection,
    known: Mapping[int, Candidate],
    found: Iterable[Neighbour],
    most: int,
) -> None:
    """Add the first `most` neighbours that fit; of a definition that is used only the signature."""
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
        only = one.symbol if one.relation == DEFINITION_OF else None
        selection.add(candidate, only=only, why=f"{one.relation} {one.symbol}")
        if selection.used > before:
            most -= 1
            if most <= 0:
                return  # before `found` reads the next one


def _text(ranking: RankedTree, one: Candidate) -> str:
    source = ranking.sources.get(one.blob, one.language)
    assert isinstance(source, Source), "it was shown"
    return "\n".join(source.lines[one.position.start_line - 1 : one.position.end_line])


def pack_of(ranking: RankedTree, count: Count) -> PackResult:
    """Return a pack of the candidates in a tree."""
    selection = selection_for(ranking, ranking.empty, count)
    choose(ranking, selection)
    return finished(ranking.empty, selection)


def finished(
    pack: Pack, selection: Selection, against: Callable[[Pack], Pack] = lambda pack: pack
) -> PackResult:
    """Return the pack of a selection; excerpts are dropped until the exact token count is within the budget.

    `against` compares it with the parent pack.
    """

    def text_in(file: PackedFile, excerpt: Excerpt) -> str:
        source = selection.sources.get(bytes.fromhex(file.blob or ""), file.language)
        assert isinstance(source, Source), "what is shown was read"
        return text_of(source, excerpt.ranges) or ""

    mentioned = len(selection.left_out())
    while True:
        left_out = selection.left_out()
        files = (*selection.files(), *left_out)
        whole = against(pack._replace(files=files, considered=tuple(selection.considered())))
        silent = {file.path for file in left_out[mentioned:]}
        named = whole._replace(files=tuple(file for file in whole.files if file.path not in silent))
        text = prompt(named, text_in)
        size = selection.count(text)
        if size <= pack.options.budget:
            return PackResult(whole._replace(tokens=size), text)
        if mentioned:
            mentioned -= 1
        elif not selection.drop_last():
            raise UsageError(
                f"a budget of {pluralize(pack.options.budget, 'token')} cannot hold this update, which has "
                f"{size:,}: raise --budget-tokens, or make a new pack of the task"
            )
