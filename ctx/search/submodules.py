"""Searching and indexing the submodules of a tree, each from its own repository and its own store.

The commit of a submodule is the one that the tree pins. If the files of a work tree are searched, those of
the submodules that are checked out in it are searched too.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ctx.errors import CtxError, UnknownRevision
from ctx.git import submodules as git
from ctx.git.formats import DIRECTORY_MODE, SUBMODULE_MODE
from ctx.git.path_rules import SUBMODULE, PathRules
from ctx.git.repository import Repository
from ctx.git.resolution import HEAD, Resolution
from ctx.search.coverage import coverage_of, submodules_in_words
from ctx.search.opening import AnswerReader, OpenedTree, open_resolved
from ctx.search.session import SearchSession
from ctx.types import LEFT_OUT, NO_COMMIT, NOT_HERE, WORK_TREE, Answer, CitedLines, Submodule

if TYPE_CHECKING:
    from ctx.storage.views.view import View

PINNED = "submodule"
"""The rule that chose the tree of a submodule, see ctx.git.resolution."""


class Part(NamedTuple):
    """One tree of an answer, at `prefix` of the requested tree: empty, or ending in a slash."""

    prefix: str
    home: SearchSession
    opened: OpenedTree


class Below(NamedTuple):
    """A submodule, its index and its tree; None if it cannot be searched."""

    submodule: Submodule
    inner: SearchSession | None = None
    asked: Resolution | None = None


class Joined:
    """The trees of an answer, that of the repository itself first. The others are closed with it."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts
        self._close = weakref.finalize(self, _close, [part.home for part in parts[1:]])

    def close(self) -> None:
        """Close the submodules' repositories."""
        self._close()

    def rest(self) -> None:
        """End the git processes of the submodules; a later question starts them again."""
        for part in self._parts[1:]:
            part.home.repository.close()

    def trees(self) -> list[tuple[SearchSession, View]]:
        """Return each tree of the answer, in the order in which they were joined."""
        return [(part.home, part.opened.view) for part in self._parts]

    def record(self, cluster: bytes, document: tuple[bytes, str]) -> bytes:
        """Return the record of a document; the cluster may be in any store. Raises `Damaged`."""
        holders = [part.home for part in self._parts if not part.home.clusters.absent([cluster])]
        return (holders or [self._parts[0].home])[0].clusters.record(cluster, document)

    def reader(self, path: str) -> Repository:
        """Return the repository that reads the objects of the part with a path."""
        inside = [part for part in self._parts if path.startswith(part.prefix)]
        reader = max(inside, key=lambda part: len(part.prefix)).opened.about.reader
        assert reader is not None, "an opened tree has one"
        repository: Repository = reader.of(path)
        return repository

    def in_words(self, answer: Answer) -> str | None:
        """Return a message about the submodules that were not searched."""
        counted = sum(one.problem is not None for one in answer.submodules)
        return submodules_in_words(answer.submodules, answer.coverage.skipped.get(SUBMODULE, 0) - counted)

    def repair(self, everything: bool) -> None:
        """Rebuild damaged data of each part, or everything."""
        for part in self._parts:
            part.opened.repair(everything)


def _close(homes: list[SearchSession]) -> None:
    for home in homes:
        home.close()


def join(session: SearchSession, opened: OpenedTree) -> OpenedTree:
    """Join the submodules of an opened tree to it, recursively; the session keeps them open."""
    parts = [Part("", session, opened)]
    uncommitted = opened.about.uncommitted
    on_disk = uncommitted is not None and uncommitted.state == WORK_TREE
    reported: list[Submodule] = []
    _gather(parts, reported, on_disk)
    skipped: dict[str, int] = {}
    for part in parts:
        for reason, count in part.opened.view.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    searched = len(parts) - 1
    skipped = {reason: count - searched * (reason == SUBMODULE) for reason, count in skipped.items()}
    view = opened.view
    if searched:
        from ctx.indexing.join import join_views

        views = [(os.fsencode(part.prefix), part.opened.view) for part in parts]
        skipped = {reason: count for reason, count in skipped.items() if count > 0}
        view = join_views(opened.asked.tree, views, skipped, session.indexer.builder)
    joined = Joined(parts)
    session.keep_submodules(joined)
    about = replace(
        opened.about,
        coverage=coverage_of(view),
        submodules=tuple(reported),
        reader=AnswerReader(session.repository, joined=joined),
    )
    return opened._replace(view=view, about=about, repair=joined.repair, joined=joined)


def pinned_below(session: SearchSession, tree: bytes, prefix: str = "") -> Iterator[Below]:
    """Yield each submodule of a committed tree at its pinned commit, recursively."""
    for one in _pinned(session.repository, tree):
        below = _below(session, session.repository, one, prefix, False)
        if below.inner is None or below.asked is None:
            yield below
            continue
        with below.inner:
            yield below
            yield from pinned_below(below.inner, below.asked.tree, below.submodule.path + "/")


def find_below(session: SearchSession, find: Callable[[SearchSession], CitedLines]) -> CitedLines | None:
    """Return the lines that `find` finds in a submodule of HEAD, None if there are none."""
    try:
        tree = session.repository.resolve_tree(HEAD).tree
    except CtxError:
        return None
    for one in _pinned(session.repository, tree):
        below = _below(session, session.repository, one, "", True)
        if below.inner is not None:
            with below.inner:
                try:
                    found = find(below.inner)
                except UnknownRevision:
                    continue
                prefix = below.submodule.path + "/"
                return replace(found, paths=tuple(prefix + path for path in found.paths))
    return None


def _gather(parts: list[Part], reported: list[Submodule], on_disk: bool) -> None:
    """Add the submodules below the last part, depth first."""
    above = parts[-1]
    for one in _pinned(above.home.reader, above.opened.asked.tree):
        submodule, index, asked = _below(above.home, above.home.reader, one, above.prefix, on_disk)
        if index is not None and asked is not None:
            try:
                opened = open_resolved(index, asked)
            except CtxError as error:
                index.close()
                submodule = _failed(submodule, error)
            else:
                reported.append(replace(submodule, tree=opened.asked.tree.hex()))
                parts.append(Part(submodule.path + "/", index, opened))
                _gather(parts, reported, on_disk)
                continue
        reported.append(submodule)


def _pinned(repository: Repository, tree: bytes) -> list[tuple[git.Pinned, bool]]:
    """Return the submodules that a tree lists and pins, by path, and whether a rule excludes each."""
    found: dict[bytes, tuple[git.Pinned, bool]] = {}
    for name, path in git.listed(repository, tree):
        one = _pinned_at(repository, tree, name, path)
        if one is not None:
            found.setdefault(path, one)
    return sorted(found.values())


def _pinned_at(repository: Repository, tree: bytes, name: str, path: bytes) -> tuple[git.Pinned, bool] | None:
    """Return the submodule pinned at a path and whether a rule excludes it, or None."""
    *above, last = path.split(b"/")
    try:
        entries = repository.tree_entries(tree)
        rules = PathRules.root(repository, entries)
        for part in above:
            inner = next((entry.oid for entry in entries if entry[:2] == (part, DIRECTORY_MODE)), None)
            if inner is None:
                return None
            entries = repository.tree_entries(inner)
            rules = rules.enter(part, entries)
    except KeyError:
        return None
    commit = next((entry.oid for entry in entries if entry[:2] == (last, SUBMODULE_MODE)), None)
    return None if commit is None else (git.Pinned(path, name, commit), rules.keeps_out(last))


def _below(
    inside: SearchSession, reader: Repository, found: tuple[git.Pinned, bool], prefix: str, on_disk: bool
) -> Below:
    one, left_out = found
    path = prefix + os.fsdecode(one.path)
    submodule = Submodule(path=path, pinned=one.commit.hex(), problem=NOT_HERE)
    if left_out:
        return Below(replace(submodule, problem=LEFT_OUT))
    if on_disk and (repository := git.checked_out(reader, one)) is not None:
        head, commit = repository.head()
        if commit is not None:
            return _at(inside, repository, submodule, commit, head or HEAD, HEAD)
        repository.close()
    for repository in git.repositories(reader, one):
        if repository.commit_of(one.commit.hex()) is not None:
            return _at(inside, repository, submodule, one.commit, one.commit.hex(), PINNED)
        repository.close()
        submodule = replace(submodule, problem=NO_COMMIT)
    return Below(submodule)


def _at(
    inside: SearchSession, repository: Repository, submodule: Submodule, commit: bytes, name: str, rule: str
) -> Below:
    try:
        tree = repository.resolve_tree(commit.hex()).tree
        inner = SearchSession(repository=repository)
        inner.on_miss, inner.on_progress = inside.on_miss, inside.on_progress
    except CtxError as error:
        repository.close()
        return Below(_failed(submodule, error))
    searched = replace(submodule, commit=commit.hex(), tree=tree.hex(), problem=None)
    return Below(searched, inner, Resolution(tree, commit, name.removeprefix("refs/heads/"), rule))


def _failed(submodule: Submodule, error: CtxError) -> Submodule:
    return replace(submodule, commit=None, tree=None, problem=str(error).partition("\n")[0])
