"""Queries from a repository's history: messages written by people who changed a file they had to find.

Everything is read from git once, without a work tree; the same repository and revisions give the same
queries on every machine.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ctx.text.subjects import query_of

MOST_FILES = 6
"""Most code files that a commit may change; larger commits describe no particular location."""
_MOST_CHANGES = 15
_MOST_ADDED = 4
PER_FILE = 3
_DEEPEST = 10000

_BOT = re.compile(r"bot\b|renovate|dependabot|weblate|transifex", re.I)


class Commit(NamedTuple):
    """A commit with few changed files: those changed, added and removed. Paths as git writes them."""

    id: str
    subject: str
    paths: tuple[str, ...]
    added: tuple[str, ...]
    removed: int


class Example(NamedTuple):
    """A query and the files that answer it; `source` is its origin."""

    text: str
    paths: tuple[str, ...]
    source: str
    commit: str


def git(repository: Path, *arguments: str) -> str:
    """The output of a git command."""
    result = subprocess.run(
        ["git", "-C", str(repository), *arguments], check=True, capture_output=True, timeout=600
    )
    return result.stdout.decode("utf-8", "replace")


@cache
def commits(repository: Path, revisions: str, most: int) -> list[Commit]:
    """Commits with few changed files, the newest first, without merges and bots."""
    log = git(
        repository, "-c", "core.quotePath=false", "log", "--no-merges", "-n", str(most), "--no-renames",
        "--name-status", "--format=%x01%H%x02%an%x02%s", revisions,
    )  # fmt: skip
    found = []
    for entry in log.split("\x01")[1:]:
        head, *changes = entry.strip("\n").split("\n")
        if head.count("\x02") < 2:
            continue  # A subject with a control character in it.
        commit, author, subject = head.split("\x02", 2)
        pairs = [line.split("\t", 1) for line in changes if "\t" in line]
        if _BOT.search(author) or not 0 < len(pairs) <= _MOST_CHANGES:
            continue
        changed, added, removed = ([path for status, path in pairs if status == kind] for kind in "MAD")
        found.append(Commit(commit, subject, tuple(changed), tuple(added), len(removed)))
    return found


def snapshot(repository: Path, head: str, usable: int = 260, deepest: int = 4000) -> str:
    """A first-parent ancestor with enough usable commits after it."""
    line = git(repository, "log", "--first-parent", "--format=%H", "-n", str(deepest), head).split()
    after = commits(repository, head, 2 * deepest)
    good = {commit.id for commit in after if query_of(commit.subject)}
    step = 40
    while step < len(line) // 2:
        newer = git(repository, "rev-list", "--no-merges", f"{line[step]}..{head}").split()
        if sum(commit in good for commit in newer) >= usable:
            break
        step = step * 5 // 4
    return line[min(step, len(line) // 2)]


def examples(
    repository: Path,
    head: str,
    tree: str,
    code: set[str],
    caps: dict[str, int],
    seed: int,
    per_file: int = PER_FILE,
) -> list[Example]:
    """Queries for the tree of an older commit: subjects after it, subjects before it, topics of its files.

    `code` are the paths of that tree that may be targets; `caps` the most queries of each source, `per_file`
    the most that one file answers.
    """
    chance = random.Random(f"{seed}-{repository.name}")
    seen: set[str] = set()
    often: Counter[str] = Counter()
    made: list[Example] = []
    before = commits(repository, tree, _DEEPEST)
    for source, history in (("after", commits(repository, f"{tree}..{head}", _DEEPEST)), ("before", before)):
        found = []
        for commit in chance.sample(history, len(history)):
            text = query_of(commit.subject)
            targets = tuple(path for path in commit.paths if path in code)
            if text is None or text.lower() in seen or not 0 < len(targets) <= MOST_FILES:
                continue
            # Some files change all the time, which says little about what users search for.
            if len(commit.added) > len(targets) or max(often[path] for path in targets) >= per_file:
                continue
            seen.add(text.lower())
            often.update(targets)
            found.append(Example(text, targets, source, commit.id))
        made += found[: caps[source]]
    made += _sample(introductions(before, code, seen), caps["added"], chance)
    made += _sample(topics(before, code, chance), caps["topic"], chance)
    return made


def introductions(history: list[Commit], code: set[str], seen: set[str]) -> list[Example]:
    """Subjects of the commits that added one or two files."""
    found = []
    for commit in history:
        text = query_of(commit.subject)
        targets = tuple(path for path in commit.added if path in code)
        if text is None or text.lower() in seen or commit.removed or not 0 < len(targets) <= _MOST_ADDED:
            continue
        seen.add(text.lower())
        found.append(Example(text, targets, "added", commit.id))
    return found


def topics(history: list[Commit], code: set[str], chance: random.Random) -> list[Example]:
    """For each file, the words that are in its commit subjects and not in others."""
    words: dict[str, Counter[str]] = defaultdict(Counter)
    everywhere: Counter[str] = Counter()
    for commit in history:
        text = query_of(commit.subject)
        targets = [path for path in commit.paths if path in code]
        if text is None or not 0 < len(targets) <= MOST_FILES:
            continue
        said = {word.lower() for word in re.findall(r"[A-Za-z][A-Za-z0-9_]+", text)}
        everywhere.update(said)
        for path in targets:
            words[path].update(said)
    found = []
    for path, count in sorted(words.items()):
        best = sorted(count, key=lambda word: (-count[word] / (3 + everywhere[word]) ** 0.5, word))[:12]
        if len(best) < 6:
            continue
        chosen = chance.sample(best, min(len(best), chance.randint(3, 7)))
        found.append(Example(" ".join(chosen), (path,), "topic", ""))
    return found


def _sample(found: list[Example], most: int, chance: random.Random) -> list[Example]:
    return found if len(found) <= most else chance.sample(found, most)
