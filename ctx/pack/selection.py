"""Greedy selection of excerpts within a budget of tokens.

Lines are never shown twice. The selection is deterministic for the same candidates in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ctx.pack.candidates import LEAST_CHANCE, Candidate
from ctx.pack.render import FORMS
from ctx.pack.sources import Source, Sources, cut, join, signature, text_of, without
from ctx.pack.types import (
    BELOW_LIMIT,
    LOW_VALUE,
    NO_ROOM,
    OVERSIZED_LINE,
    SELECTED,
    SOURCE_MEMORY,
    TOKEN_BUDGET,
    Considered,
    Excerpt,
    Lines,
    PackedFile,
    PackOptions,
)
from ctx.text.query import terms_in
from ctx.text.tokens import Count

_HEADING = 40
"""Estimated tokens around an excerpt, for the order of candidates."""
_BYTES_A_TOKEN = 3.8
_NOT_FULL = 40
"""With fewer tokens left than this the selection is full."""
_WORTH_A_SIGNATURE = 0.03
"""Minimum chance of a candidate to show its signature if the whole does not fit."""
_MOST_NAMES = 6
"""Maximum symbols in the heading of merged excerpts."""
_MOST_OMITTED = 5
"""Maximum files listed without an excerpt."""


class Shown(NamedTuple):
    """A selected excerpt, its candidate and source, and its tokens."""

    candidate: Candidate
    source: Source
    excerpt: Excerpt
    tokens: int


class Selection:
    """The excerpts selected so far, within `budget` tokens of which `used` are taken."""

    def __init__(
        self, sources: Sources, options: PackOptions, count: Count, terms: dict[int, float], used: int
    ) -> None:
        """Start an empty selection; `terms` are the weights of the task's terms by their hashes."""
        self.sources = sources
        self.count = count
        self.budget = options.budget
        self.max_files = options.max_files
        self.used = used
        self.shown: dict[str, list[Shown]] = {}
        self.omitted: dict[str, tuple[Candidate, str]] = {}
        self.status: dict[str, tuple[str, str]] = {}
        self._form = FORMS[options.format]
        self._terms = terms
        self._lines: dict[str, list[Lines]] = {}
        self._order: list[str] = []

    def is_full(self, most: int | None = None) -> bool:
        """Return True if too little is left, of the budget or up to `most`, for another excerpt."""
        return (self.budget if most is None else most) - self.used < _NOT_FULL

    def fill(self, candidates: Sequence[Candidate], share: float = 1.0) -> None:
        """Add candidates in order (see `in_order`) until a share of the budget is used."""
        most = self.used + int((self.budget - self.used) * share)
        for one in candidates:
            if one.chance < LEAST_CHANCE:
                self._note(one, LOW_VALUE)
            else:
                self.add(one, most)

    def add(self, one: Candidate, most: int | None = None, only: str | None = None, why: str = "") -> bool:
        """Add a candidate, or only the signature of the definition `only`; return True if it fits."""
        most = self.budget if most is None else most
        if self.is_full(most):
            self._note(one, NO_ROOM, TOKEN_BUDGET)
            return False
        if one.path not in self.shown and len(self.shown) >= self.max_files:
            self._note(one, BELOW_LIMIT)
            return False
        try:
            source = self.sources.get(one.blob, one.language)
        except KeyError:
            return False
        if isinstance(source, str):
            self._note(one, NO_ROOM, SOURCE_MEMORY)
            return False
        lines = Lines(one.position.start_line, one.position.end_line)
        if only is not None:
            return self._show(one, source, signature(source.outline, lines, only), most, only, why)
        ranges = cut(source.outline, lines, one.is_test, lambda a, b: self._weigh(source, a, b))
        if self._show(one, source, ranges, most, one.symbol, why):
            return True
        name = one.names[0] if one.names else ""
        if not name or one.chance < _WORTH_A_SIGNATURE:
            return False
        ranges = signature(source.outline, lines, name)
        return self._show(one, source, ranges, most, one.symbol, "signature")

    def _weigh(self, source: Source, first: int, last: int) -> float:
        found = terms_in("\n".join(source.lines[first - 1 : last]))
        return sum(weight for term, weight in self._terms.items() if term in found)

    def _show(
        self, one: Candidate, source: Source, ranges: tuple[Lines, ...], most: int, symbol: str, why: str
    ) -> bool:
        inside = [Lines(a, min(b, len(source.lines))) for a, b in ranges if a <= len(source.lines)]
        ranges = tuple(
            Lines(first, last)
            for first, last in without(inside, self._lines.get(one.path, ()))
            if any(line.strip() for line in source.lines[first - 1 : last])
        )
        if not ranges:
            return one.path in self.shown
        text = text_of(source, ranges)
        excerpt = Excerpt(ranges, symbol, why)
        if text is None:
            self._note(one, NO_ROOM, OVERSIZED_LINE)
            return False
        file = packed([Shown(one, source, excerpt, 0)])
        tokens = self.count(self._form.excerpt(file, excerpt, text)) + 2
        if one.path not in self.shown:
            tokens += self.count(self._form.file(file)) + 2
        if self.used + tokens > most:
            self._note(one, NO_ROOM, TOKEN_BUDGET)
            return False
        self.used += tokens
        self.shown.setdefault(one.path, []).append(Shown(one, source, excerpt, tokens))
        self._lines.setdefault(one.path, []).extend(ranges)
        self._order.append(one.path)
        self.status[one.path] = (SELECTED, one.blob.hex())
        self.omitted.pop(one.path, None)
        return True

    def _note(self, one: Candidate, status: str, omission: str | None = None) -> None:
        """Record why a file is not shown, unless it is; the first reason is kept."""
        if one.path in self.shown:
            return
        self.status.setdefault(one.path, (status, one.blob.hex()))
        if omission is not None:
            self.omitted.setdefault(one.path, (one, omission))

    def drop_last(self) -> bool:
        """Remove the last excerpt; return True if there was one."""
        if not self._order:
            return False
        path = self._order.pop()
        last = self.shown[path].pop()
        self.used -= last.tokens
        self._lines[path] = [one for kept in self.shown[path] for one in kept.excerpt.ranges]
        if not self.shown[path]:
            del self.shown[path]
            self.status[path] = (NO_ROOM, last.candidate.blob.hex())
            self.omitted[path] = (last.candidate, TOKEN_BUDGET)
        return True

    def files(self) -> list[PackedFile]:
        """Return the selected files in the order in which they were first added."""
        return [packed(shown) for shown in self.shown.values()]

    def left_out(self) -> list[PackedFile]:
        """Return the likeliest files of which no excerpt fitted."""
        likely = sorted(self.omitted.values(), key=lambda pair: (-pair[0].odds, pair[0].path))
        found = []
        for one, omission in likely[:_MOST_OMITTED]:
            try:
                source = self.sources.get(one.blob, one.language)
            except KeyError:
                source = omission
            digest = source.digest if isinstance(source, Source) else None
            file = PackedFile(
                one.path, one.language, one.blob.hex(), digest, *one.summed, one.evidence, (), None, omission
            )
            found.append(file)
        return found

    def considered(self) -> list[Considered]:
        """Return the status of each considered file, in the order of decision."""
        return [Considered(path, blob, status) for path, (status, blob) in self.status.items()]


def packed(shown: Sequence[Shown]) -> PackedFile:
    """Return the file of some excerpts, the best one first."""
    best, source, excerpt, _ = shown[0]
    evidence = {str(said): said for one in shown for said in one.candidate.evidence}
    return PackedFile(
        best.path,
        best.language,
        best.blob.hex(),
        source.digest,
        *best.summed,
        tuple(evidence.values()),
        tuple(_merged(sorted((one.excerpt for one in shown), key=lambda one: one.ranges[0]))),
        max(excerpt.ranges, key=lambda one: (one.last - one.first, -one.first)),
        None,
        sum(one.tokens for one in shown),
    )


def _merged(excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Return excerpts with adjacent ones merged."""
    found: list[Excerpt] = []
    for one in excerpts:
        last = found[-1] if found else None
        if last is not None and last.why == one.why == "":
            ranges = join((*last.ranges, *one.ranges))
            if len(ranges) < len(last.ranges) + len(one.ranges):
                names = dict.fromkeys(filter(None, (*last.symbol.split(", "), one.symbol)))
                found[-1] = Excerpt(ranges, ", ".join(list(names)[:_MOST_NAMES]))
                continue
        found.append(one)
    return found


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates in the order in which to try them: by chance over the square root of the tokens.

    A few large likely excerpts are better than many small unlikely ones.
    """

    def order(one: Candidate) -> tuple[float, str, int]:
        tokens = _HEADING + (one.position.end - one.position.start) / _BYTES_A_TOKEN
        return -one.chance / tokens**0.5, one.path, one.row

    return sorted(candidates, key=order)
