"""Commits as evaluation tasks: the subject, and the changed lines in the parent tree.

Commits that only move, format or bump something are recognised by their diff and left out, since they need no
search. Authors are never read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ctx.git.formats import seconds
from ctx.git.repository import Repository
from ctx.search.evaluation.measures import Lines
from ctx.text.subjects import query_of

RENAME = "only moved files"
FORMAT = "only formatted"
BUMP = "only raised versions"
NEW = "changed nothing that was there before"
LARGE = "changed too many files"
WORDLESS = "says too little"
UNKNOWN = "is not whole in this clone"

MOST_CHANGES = 15
"""Maximum number of files a commit may touch; larger commits do not point to a particular place."""


class Change(NamedTuple):
    """A changed file of the parent tree, by its old path, and its changed old lines.

    If lines were only added, the line before them is used.
    """

    path: bytes
    lines: tuple[Lines, ...]


class Commit(NamedTuple):
    """A commit with one parent. `left_out` is the reason why it is not a task, or None if it is one."""

    oid: bytes
    parent: bytes
    time: int
    subject: str
    body: str
    changes: tuple[Change, ...]
    left_out: str | None


class _Hunk(NamedTuple):
    """Old lines of a hunk, with the removed and the added text."""

    lines: Lines
    removed: bytes
    added: bytes


class _Patch(NamedTuple):
    """The change of one file: git's status letter, the old path, and the hunks if it is text."""

    status: str
    path: bytes
    hunks: list[_Hunk]


_FIELDS = 4
_NO_NEWLINES = 2
"""Maximum number of `\\ No newline at end of file` lines in a hunk; its header does not count them."""
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_SUBMODULE, _LINK = b"160000", b"120000"
_STYLE = re.compile(rb"[\s,;()\\]+")
"""Characters that formatters add and remove; they also change quotes."""
_NUMBER = re.compile(rb"\b[vV]?\d+(?:\.\d+)+(?:[-+.]?\w+)*|\b(?:19|20)\d\d\b|@v?\d+\b|\b[0-9a-f]{40,64}\b")
_MANIFEST = re.compile(
    rb"(?:package(-lock)?\.json|(yarn|pnpm-lock|bun|composer|Cargo|poetry|uv|Pipfile|Gemfile|mix|pdm|flake)"
    rb"\.(lock|lockb|yaml)|npm-shrinkwrap\.json|Cargo\.toml|go\.(mod|sum|work)|composer\.json|pom\.xml"
    rb"|[^/]*\.gradle(\.kts)?|gradle[^/]*\.properties|[^/]*\.versions\.toml|requirements[^/]*\.(txt|in)"
    rb"|setup\.(cfg|py)|pyproject\.toml|Pipfile|Gemfile|[^/]*\.(gemspec|csproj|nuspec|props|targets|podspec)"
    rb"|packages\.config|global\.json|mix\.exs|deno\.json|pubspec\.(yaml|lock)|(CHANGE(S|LOG)|NEWS|HISTORY"
    rb"|RELEASES?|VERSION)([.-][^/]*)?|[^/]*[vV]ersion\.[^/]+|_?_?version_?_?\.py)",
    re.I,
)
_BUMPS = re.compile(
    r"\b(bump|updat|upgrad|releas|version|dependenc|deps|prepar|changelog|pin|lock|chore)|\bv?\d+\.\d+", re.I
)


def commits(repository: Repository, start: bytes, most: int) -> Iterator[Commit]:
    """Yield the commits with one parent that are reachable from `start`, newest first, at most `most`."""
    listing = repository.git(
        "-c", "log.showSignature=false", "log", "-z", "--no-merges", f"--max-count={most}", "--no-patch",
        "--encoding=UTF-8", "--format=%H%x00%P%x00%ct%x00%B", start.hex(), "--",
    )  # fmt: skip
    fields = listing.split(b"\0")
    for at in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        oid, parents, time, message = fields[at : at + _FIELDS]
        if parents.count(b" ") or not parents:
            continue  # a root commit has no parent tree to search
        subject, _, body = message.decode("utf-8", "replace").lstrip("\n").partition("\n")
        yield _commit(
            repository,
            Commit(
                bytes.fromhex(oid.decode()),
                bytes.fromhex(parents.decode()),
                seconds(time),
                subject.strip(),
                body.strip(),
                (),
                None,
            ),
        )


def _commit(repository: Repository, commit: Commit) -> Commit:
    """Return the commit with its changes, or with the reason why it is not a task."""
    if None in repository.objects.headers([commit.parent]):
        return commit._replace(left_out=UNKNOWN)
    diff = repository.run(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M", f"-l{10 * MOST_CHANGES}", "-p", "-U0",
        "--no-ext-diff", "--no-textconv", "--no-color", "--no-commit-id", "--diff-algorithm=histogram",
        "--diff-filter=AMRD", commit.parent.hex(), commit.oid.hex(), "--",
    )  # fmt: skip
    if diff.returncode:
        return commit._replace(left_out=UNKNOWN)
    patches = _patches(diff.stdout)
    changes = tuple(
        Change(patch.path, tuple(hunk.lines for hunk in patch.hunks))
        for patch in patches
        if patch.status in "MR" and patch.hunks
    )
    return commit._replace(changes=changes, left_out=_left_out(commit, patches, changes))


def _left_out(commit: Commit, patches: list[_Patch], changes: tuple[Change, ...]) -> str | None:
    if patches and all(patch.status == "R" and not patch.hunks for patch in patches):
        return RENAME
    if not changes:
        return NEW
    if all(patch.status in "MR" for patch in patches):
        if all(_same(patch, _style) for patch in patches):
            return FORMAT
        if all(_same(patch, _versions) for patch in patches):
            return BUMP
    if all(_MANIFEST.fullmatch(patch.path.rpartition(b"/")[2]) for patch in patches) and _BUMPS.search(
        commit.subject
    ):
        return BUMP
    if len(patches) > MOST_CHANGES:
        return LARGE
    return WORDLESS if query_of(commit.subject) is None else None


def _same(patch: _Patch, form: Callable[[bytes], bytes]) -> bool:
    """Return True if a file is unchanged under the normalization `form`, with nothing moved."""
    removed = [form(hunk.removed) for hunk in patch.hunks]
    added = [form(hunk.added) for hunk in patch.hunks]
    return b"".join(removed) == b"".join(added) and all(
        bool(before) == bool(after) for before, after in zip(removed, added, strict=True)
    )


def _style(text: bytes) -> bytes:
    """Return a text without the characters that formatters change."""
    return _STYLE.sub(b"", text).replace(b"'", b'"')


def _versions(text: bytes) -> bytes:
    """Return a text with all versions, years and hashes replaced by the same token."""
    return _NUMBER.sub(b"0", text)


def _patches(diff: bytes) -> list[_Patch]:
    """Parse the output of `git diff-tree -z --raw -p -U0`: all names, then all hunks in the same order."""
    names: list[_Patch] = []
    at = 0
    while diff[at : at + 1] == b":":
        end = diff.index(b"\0", at)
        old_mode, new_mode, *_, status = diff[at + 1 : end].split(b" ")
        at, end = end + 1, diff.index(b"\0", end + 1)
        path = diff[at:end]
        if status[:1] in b"RC":
            end = diff.index(b"\0", end + 1)
        at = end + 1
        # git prints changes of submodules and links as text.
        kind = status[:1].decode() if not {old_mode, new_mode} & {_SUBMODULE, _LINK} else "-"
        names.append(_Patch(kind, path, []))
    number = -1
    lines = diff[at + 1 :].split(b"\n")
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        if line.startswith(b"diff --git "):
            number += 1
        elif 0 <= number < len(names) and (match := _HUNK.match(line)):
            first, removed, added = int(match[1]), _count(match[2]), _count(match[3])
            body = lines[place : place + removed + added + _NO_NEWLINES]
            texts = [text for text in body if text[:1] in (b"-", b"+")][: removed + added]
            names[number].hunks.append(
                _Hunk(
                    (max(first, 1), max(first + removed - 1, first, 1)),
                    b"\n".join(text[1:] for text in texts[:removed]) + b"\n",
                    b"\n".join(text[1:] for text in texts[removed:]) + b"\n",
                )
            )
            place += removed + added
    return names


def _count(digits: bytes | None) -> int:
    """Return the line count of a hunk header; an omitted count means 1."""
    return 1 if digits is None else int(digits)
