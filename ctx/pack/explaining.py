"""Explanation of why one file is, or is not, in the pack of a task."""

from __future__ import annotations

import os
import posixpath
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ctx.chunking.languages import language_of
from ctx.errors import CtxError, Damaged
from ctx.git.formats import DIRECTORY_MODE
from ctx.git.path_rules import IGNORED, PathRules
from ctx.git.quoting import unquoted_argument
from ctx.pack.making import check, pack_of, query_of_task, rank, rows_for
from ctx.pack.task import read_report, read_task
from ctx.pack.types import BELOW_LIMIT, LOW_VALUE, NO_ROOM, SELECTED, PackOptions
from ctx.ranking.query_terms import query_terms, similar_terms
from ctx.search.evidence.answering import edges_among
from ctx.search.evidence.commits import matching_commits
from ctx.search.evidence.file_ranking import FileRanking
from ctx.search.evidence.files import best_score, file_hit, similar_words_of
from ctx.search.evidence.types import INDEXED, NOT_IN_TREE, SKIPPED, Explanation
from ctx.search.opening import OpenedTree, open_tree, repairing
from ctx.storage.views.view import NO_SEGMENT
from ctx.text.contents import MAX_SIZE, MISSING, TOO_LARGE, content_skip
from ctx.text.tokens import counter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctx.git.repository import Repository
    from ctx.pack.types import Pack
    from ctx.search.session import SearchSession

_MOST_ALIKE = 3
_EXCERPTS = 16_000
"""Maximum characters of excerpts."""
_IN_WORDS = {
    SELECTED: "it is in the pack for this task",
    LOW_VALUE: "it was considered, but adds too little; the pack had room for more files",
    BELOW_LIMIT: "the pack has its maximum number of files, and others are likelier (--max-files)",
    NO_ROOM: "it is likely enough, but the pack has no tokens left for it (--budget-tokens)",
}
_NOT_WEIGHED = "it has too little evidence for the task to be considered"


def explain_file(session: SearchSession, path: str, task: str, options: PackOptions) -> Explanation:
    """Explain a file, named relative to the current directory or the root, for a task.

    The selection is that of a pack with the same options, None if a package for packs is not installed.
    Raises UsageError for a task without content.
    """
    check(task, options)

    return repairing(
        partial(open_tree, session, options.revision),
        lambda opened: _with_selection(session, opened, path, task, options),
    )


def _with_selection(
    session: SearchSession, opened: OpenedTree, path: str, task: str, options: PackOptions
) -> Explanation:
    """Return the explanation of a file with its selection in a pack of the same tree."""
    explanation = _explained(session, opened, path, task, options)
    if explanation.indexing != INDEXED:
        return explanation
    try:
        count = counter(options.tokenizer)
    except CtxError as error:
        return replace(explanation, selection_reason=str(error))
    pack = pack_of(rank(session, opened, {}, task, options, tuple(read_task(task))), count).pack
    selection, reason = _selection(pack, explanation.path)
    return replace(explanation, selection=selection, selection_reason=reason)


def _selection(pack: Pack, path: str) -> tuple[str, str]:
    """Return the status of a file in a pack, and its description."""
    status = next((one.status for one in pack.considered if one.path == path), None)
    if status is not None:
        return status, _IN_WORDS[status]
    full = sum(1 for file in pack.files if file.excerpts) >= pack.options.max_files
    return (BELOW_LIMIT, _IN_WORDS[BELOW_LIMIT]) if full else (LOW_VALUE, _NOT_WEIGHED)


def _explained(
    session: SearchSession, opened: OpenedTree, path: str, task: str, options: PackOptions
) -> Explanation:
    ranking = FileRanking(session, opened, task, rows_for(options), query=query_of_task(task))
    number = {name: file for file, name in enumerate(opened.view.paths)}
    names = _names(session.repository, path)
    name = next((one for one in names if one in number), names[0])
    file = number.get(name)
    message = session.remark(opened.about.message)
    about = replace(opened.about, message=message, ranked_with=session.tuning.ranked_with)
    empty = Explanation(
        about=about,
        path=os.fsdecode(name),
        task=task,
        terms=query_terms(ranking.query),
        indexing=INDEXED,
        ranked=len(ranking.by_file),
    )
    if file is None or int(opened.view.file_segment[file]) == NO_SEGMENT:
        for one in names:
            reason = why_left_out(session.reader, opened.asked.tree, one)
            if reason is not None:
                return replace(empty, path=os.fsdecode(one), indexing=SKIPPED, reason=reason)
        return replace(empty, indexing=NOT_IN_TREE, reason=_what_is_there(opened.view.paths, names[0]))
    ranked = list(ranking.by_file)
    rank = ranked.index(file) + 1 if file in ranking.by_file else None
    best = [other for other in ranked[: options.max_files] if other != file]
    past = matching_commits(session, about.commit, read_report(task).question, [name]).get(name, ())
    edges = edges_among(ranking, [file, *best[:19]])(file)
    hit = file_hit(ranking, file, best_score(ranking), edges, _EXCERPTS, past)
    return replace(
        empty,
        terms=empty.terms + similar_terms(ranking.query, similar_words_of([hit])),
        rank=rank,
        hit=hit,
        uses=tuple(ranking.dependencies.outgoing([name])),
        used_by=tuple(ranking.dependencies.incoming([name])),
    )


def _what_is_there(paths: Sequence[bytes], path: bytes) -> str | None:
    """Return a hint for a path that is not a file: it is a directory, or files of the same name exist."""
    if any(one.startswith(path + b"/") for one in paths) or path == b".":
        return "it is a directory; name a file"
    same = sorted(one for one in paths if posixpath.basename(one) == posixpath.basename(path))
    if not same:
        return None
    return f"the tree has {', '.join(os.fsdecode(one) for one in same[:_MOST_ALIKE])}"


def _names(repository: Repository, path: str) -> list[bytes]:
    """Return the paths from the root that a name may mean.

    It is relative to the current directory or to the root, literal or quoted by git.
    """
    raw = os.fsencode(path)
    if os.path.isabs(raw) and repository.work_tree is not None:
        raw = os.path.relpath(os.path.realpath(raw), os.fsencode(os.path.realpath(repository.work_tree)))
        return [posixpath.normpath(raw)]
    found = []
    for one in (raw, unquoted_argument(raw)):
        if one is not None:
            found += [posixpath.normpath(repository.prefix + one), posixpath.normpath(one.lstrip(b"/"))]
    return list(dict.fromkeys(found))


def why_left_out(repository: Repository, tree: bytes, path: bytes) -> str | None:
    """Return the reason why a file of a tree is not indexed; None if the tree has no such file."""
    folders, _, name = path.rpartition(b"/")
    try:
        entries = repository.tree_entries(tree)
        rules = PathRules.root(repository, entries)
        ignored = False
        for folder in folders.split(b"/") if folders else ():
            entry = next((one for one in entries if one.name == folder and one.mode == DIRECTORY_MODE), None)
            if entry is None:
                return None
            ignored = ignored or rules.keeps_out(folder)
            entries = repository.tree_entries(entry.oid)
            rules = rules.enter(folder, entries)
        found = next((one for one in entries if one.name == name and one.mode != DIRECTORY_MODE), None)
        if found is None:
            return None
        reason = rules.judge(name, found.mode) or (IGNORED if ignored else None)
        if reason is None and repository.blob_size(found.oid) > MAX_SIZE:
            reason = TOO_LARGE
        return reason or content_skip(
            repository.read_blob(found.oid), rules.language(name) or language_of(path)
        )
    except (KeyError, Damaged):
        return MISSING
