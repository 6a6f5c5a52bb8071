"""Build blocks from commits: count terms and embed texts, which are not kept."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from ctx.git.commits import CommitChange, Range, TextHunk
from ctx.history.block import ADDED, CUT, EDGE, MERGE, MESSAGE, NO_PATH, PATHS, REMOVED, UNREAD
from ctx.models.static_embedding import static_embedding
from ctx.storage.arrays import Arrays, begins
from ctx.text.vocabulary import Vocabulary

PIECE = 40
"""Maximum number of lines of a row."""
_APART = 6
"""Maximum distance in lines of hunks that form one piece."""
_MOST_ROWS = 200
_MOST_TERMS = 400
_LEFT_OUT = re.compile(
    rb"^(?:Signed-off-by|Co-authored-by|Reviewed-by|Acked-by|Tested-by|Cc|Change-Id|git-svn-id)\b.*$",
    re.IGNORECASE | re.MULTILINE,
)
_BATCH = 1 << 20
"""Bytes of text whose terms are counted in one batch."""


class _Row(NamedTuple):
    commit: int
    kind: int
    path: int
    first: int
    last: int
    text: bytes


def build_block(
    vocabulary: Vocabulary, changes: Sequence[CommitChange], history: Range, unread: Collection[bytes]
) -> Arrays:
    """Return the block of some commits of a history; `unread` ones have only their message."""
    rows: list[_Row] = []
    flags: list[int] = []
    paths: list[list[bytes]] = []
    for number, change in enumerate(changes):
        own, is_cut = _rows(number, change)
        rows += own
        paths.append(change.paths)
        flags.append(
            (MERGE if change.oid in history.merges else 0)
            | (CUT if is_cut else 0)
            | (EDGE if change.oid in history.shallow else 0)
            | (UNREAD if change.oid in unread else 0)
        )
    commits = np.array([row.commit for row in rows], dtype=np.int64)
    lengths, bits, postings = _read(vocabulary, rows)
    flat = [path for some in paths for path in some]
    width = len(changes[0].oid)
    return {
        "commit_id": np.frombuffer(b"".join(change.oid for change in changes), np.uint8).reshape(-1, width),
        "commit_time": np.array([change.committed for change in changes], dtype="<i8"),
        "commit_flags": np.array(flags, dtype=np.uint8),
        "commit_rows": np.bincount(commits, minlength=len(changes)).astype("<u4"),
        "commit_paths": np.array([len(some) for some in paths], dtype="<u4"),
        "path_length": np.array([len(path) for path in flat], dtype="<u4"),
        "path_bytes": np.frombuffer(b"".join(flat), dtype=np.uint8),
        "row_kind": np.array([row.kind for row in rows], dtype=np.uint8),
        "row_path": np.array([row.path for row in rows], dtype="<u4"),
        "row_first": np.array([row.first for row in rows], dtype="<u4"),
        "row_last": np.array([row.last for row in rows], dtype="<u4"),
        "row_length": lengths,
        "row_bits": bits,
        **_bounded(postings, commits),
    }


def _read(vocabulary: Vocabulary, rows: Sequence[_Row]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    lengths, bits = [], []
    parts: list[list[np.ndarray]] = [[], [], []]
    start = 0
    while start < len(rows):
        end, size = start, 0
        while end < len(rows) and (end == start or size + len(rows[end].text) < _BATCH):
            size += len(rows[end].text) + 1
            end += 1
        texts = [row.text for row in rows[start:end]]
        ends = list(accumulate((len(text) + 1 for text in texts), initial=0))
        reading = vocabulary.read(b"\n".join(texts), [(a, b - 1) for a, b in pairwise(ends)])
        lengths.append(np.minimum(reading.lengths, 0xFFFF).astype("<u2"))
        bits.append(static_embedding().embed_documents(reading.rows, len(texts)))
        for part, values in zip(parts, reading.terms, strict=True):
            part.append(values)
        parts[0][-1] = parts[0][-1] + start
        start = end
    return np.concatenate(lengths), np.concatenate(bits), [np.concatenate(part) for part in parts]


def _bounded(postings: list[np.ndarray], commit_of_row: np.ndarray) -> Arrays:
    """Keep at most `_MOST_TERMS` distinct terms of each commit, those of its first rows."""
    rows, terms, times = postings
    commits = commit_of_row[rows]
    order = np.lexsort((rows, terms, commits))
    new = begins(commits[order], terms[order])
    # Distinct terms of a commit are counted in the order of the rows in which they come first.
    first = order[new]
    owner = commits[first]
    by_row = np.lexsort((terms[first], rows[first], owner))
    keeps = np.zeros(len(first), dtype=bool)
    keeps[by_row] = np.arange(len(first)) - np.searchsorted(owner, owner) < _MOST_TERMS
    kept = np.zeros(len(order), dtype=bool)
    kept[order] = keeps[np.cumsum(new) - 1]
    return {
        "posting_row": rows[kept].astype("<u4"),
        "posting_term": terms[kept].astype("<u8"),
        "posting_times": np.minimum(times[kept], 255).astype(np.uint8),
    }


def _rows(number: int, change: CommitChange) -> tuple[list[_Row], bool]:
    message = _LEFT_OUT.sub(b"", change.message).strip()
    # The subject is the most informative part, so it counts twice.
    subject = message.partition(b"\n")[0]
    rows = [_Row(number, MESSAGE, NO_PATH, 0, 0, subject + b"\n" + message)]
    if change.paths:
        rows.append(_Row(number, PATHS, NO_PATH, 0, 0, b"\n".join(change.paths[:50])))
    pieces = _pieces(number, change.hunks)
    return rows + pieces[:_MOST_ROWS], change.is_truncated or len(pieces) > _MOST_ROWS


def _pieces(number: int, hunks: Sequence[TextHunk]) -> list[_Row]:
    """Return rows of added and of removed lines; join adjacent hunks and split long ones."""
    rows: list[_Row] = []
    for kind in (ADDED, REMOVED):
        path, end = -1, 0
        lines: list[tuple[int, bytes]] = []
        for hunk in hunks:
            start = hunk.new_start if kind == ADDED else hunk.old_start
            texts = hunk.added if kind == ADDED else hunk.removed
            if not texts:
                continue
            if lines and (hunk.path != path or start - end > _APART):
                rows += _split(number, kind, path, lines)
                lines = []
            path = hunk.path
            lines += [(start + place, text) for place, text in enumerate(texts)]
            end = start + len(texts)
        if lines:
            rows += _split(number, kind, path, lines)
    return sorted(rows, key=lambda row: (row.path, row.kind, row.first))


def _split(number: int, kind: int, path: int, lines: list[tuple[int, bytes]]) -> list[_Row]:
    rows = []
    for at in range(0, len(lines), PIECE):
        piece = lines[at : at + PIECE]
        text = b"".join(line for _, line in piece)
        if text.strip():
            rows.append(_Row(number, kind, path, piece[0][0], piece[-1][0], text))
    return rows
