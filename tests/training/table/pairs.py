"""Collect pairs of a query and a piece of code that answers it from public repositories.

    PYTHONPATH=tests/training/ranking python tests/training/table/pairs.py CHECKOUTS FOLDER [NAME …]

CHECKOUTS has one clone for each name of `repositories.json` (bare or not, with its history); FOLDER gets one
file for each, one pair per line in JSON: kind, query, code, target (pairs with the same target are not
negatives of each other). Each repository has its own random seed, so the same revisions result in the same
pairs.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from math import log, sqrt
from pathlib import Path
from typing import NamedTuple

import comments
import history
from sources import Piece, pieces

from ctx.chunking.languages import content_class, language_of
from ctx.storage.views import paths
from ctx.text.query import tokens, words_of
from ctx.text.subjects import query_of

SEED = 4
CAPS = {
    "doc": 2500, "comment": 1000, "name": 1200, "path": 500, "commit": 2000, "test": 700, "error": 500,
    "readme": 250, "heading": 150, "question": 1500,
}  # fmt: skip
KINDS = tuple(CAPS)
_MOST_COMMITS = 3000
_MOST_DIFFS = 900
_LONGEST = 1600
_SHORTEST_CODE = 60

_ERROR = re.compile(
    r"(?:\b(?:raise|throw|panic|die|bail|fail|abort|reject|assert\w*|ensure|anyhow|fatal\w*|warn\w*)\b|[Ee]rr(?:or)?\w*|Exception)"
    r"[^\n\"'`]{0,60}[\"'`]([^\"'`\n]{15,140})[\"'`]"
)
_SPOKEN_TEST = re.compile(
    r"\b(?:it|test|specify|scenario|should|describe|context)\b[ (]*[\"'`]([^\"'`\n]{10,120})[\"'`]"
)
_TEST_STEM = re.compile(r"^tests?(?=[_.-]|[A-Z])|[_.-]?(?:tests?|spec|specs|Tests?|TestCase|Spec|IT|Suite)$")
_TEST_WORDS = frozenset("test tests should it spec when given then".split())
_QUOTED = re.compile(r"``?([A-Za-z_][\w.:#]{3,60}?)(?:\(\))?``?")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n\s*\n|\n(?=\s*[-*+#|])")
_MARKUP = re.compile(r"\[([^\]]*)\]\([^)]*\)|<[^>\n]{1,80}>|https?://\S+|[*_#>|`=~-]{2,}")
_QUESTIONS = (
    "where is {} implemented", "where is {} handled", "how does {} work", "how is {} done", "how do we {}",
    "code that does {}", "function to {}", "which class is responsible for {}", "{} does not work",
    "what happens in {}", "find the place where {}", "logic for {}", "implementation of {}",
    "what calls {}", "bug in {}", "I want to change {}", "how are {} created", "where do we {}",
    "{} handling", "support for {}",
    "explain {}", "{} fails", "how can I {}", "the part that deals with {}",
)  # fmt: skip
_HUNK = re.compile(r"^@@ [^@]*@@ ?(.*)$")


class Pair(NamedTuple):
    """A query, the text that answers it, and the identity of that text within a repository."""

    kind: str
    query: str
    code: str
    target: int


def spoken(name: str) -> str:
    """An identifier as words."""
    return " ".join(word for token in tokens(name) for word in words_of(token))


def without(text: str, name: str) -> str:
    """A text without a name."""
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text)


def of_chunks(found: list[Piece], chance: random.Random) -> list[Pair]:
    """The pairs of one chunk: from its comments, its names, its messages, its path."""
    made: list[Pair] = []
    for number, piece in enumerate(found):
        text = piece.text
        if piece.flags & paths.DOCS:
            _, _, rest = text.partition("\n")
            if piece.chunk.kind == "section" and piece.chunk.symbol and len(rest) > 100:
                made.append(Pair("heading", piece.chunk.symbol.replace("#", " "), rest[:_LONGEST], number))
            continue
        is_test = piece.chunk.is_test or bool(piece.flags & paths.TEST)
        if len(text) < _SHORTEST_CODE or (is_test and chance.random() < 0.85):
            continue
        said = comments.find(text, piece.language)
        for place, comment in enumerate(said):
            code = text[: comment.start] + text[comment.end :]
            if len(code.strip()) < _SHORTEST_CODE:
                continue
            is_doc = bool(piece.chunk.names) and place == 0
            made.append(Pair("doc" if is_doc else "comment", comment.text, code, number))
            if is_doc and chance.random() < 0.3:
                clause = re.split(r"[.;:(]", comment.text, maxsplit=1)[0]
                made.append(Pair("question", chance.choice(_QUESTIONS).format(clause), code, number))
        symbol = piece.chunk.symbol
        for name in piece.chunk.names[:2]:
            words = spoken(name)
            if len(words) < 4 or piece.chunk.is_test:
                continue
            code = without(text, name)
            if " " in words or chance.random() < 0.3:
                made.append(
                    Pair("name", words if chance.random() < 0.6 else spoken(symbol or name), code, number)
                )
            if " " in words and chance.random() < 0.3:
                made.append(Pair("question", chance.choice(_QUESTIONS).format(words), code, number))
        for message in _ERROR.finditer(text):
            if message.group(1).count(" ") >= 2:
                code = text[: message.start(1)] + text[message.end(1) :]
                made.append(Pair("error", message.group(1), code, number))
        if chance.random() < 0.5:
            parts = re.sub(r"\.[A-Za-z]+$", "", piece.path).split("/")
            made.append(Pair("path", spoken(" ".join(parts[-3:])), text, number))
    return made


def of_tests(found: list[Piece]) -> list[Pair]:
    """The name of a test, and the chunk of the tested file that shares most rare words with it."""
    sources: dict[str, list[int]] = defaultdict(list)
    words: list[set[str]] = []
    often: Counter[str] = Counter()
    for number, piece in enumerate(found):
        words.append(set(spoken(piece.text).split()))
        often.update(words[-1])
        if not piece.flags & (paths.TEST | paths.DOCS | paths.EXAMPLE) and piece.chunk.names:
            sources[_stem(piece.path)].append(number)
    made = []
    for number, piece in enumerate(found):
        stem = Path(piece.path).name.split(".")[0]
        if not piece.flags & paths.TEST or _stem(piece.path) == _plain(stem):
            continue
        candidates = sources.get(_stem(piece.path), [])
        names = _SPOKEN_TEST.findall(piece.text)
        names += [spoken(name) for name in piece.chunk.names if piece.chunk.is_test]
        for name in names[:6]:
            asked = [word for word in spoken(name).split() if word not in _TEST_WORDS]
            if len(asked) < 2 or not candidates:
                continue
            wanted = Counter(words[number]) + Counter(dict.fromkeys(asked, 2))

            def shared(other: int, wanted: Counter[str] = wanted) -> float:
                common = words[other] & wanted.keys()
                value = sum(wanted[word] * log(len(found) / often[word]) for word in common)
                return value / sqrt(20 + len(words[other]))

            best = max(candidates, key=shared)
            if len(words[best] & set(asked)) >= 1:
                made.append(Pair("test", " ".join(asked), found[best].text, best))
    return made


def _stem(path: str) -> str:
    return _plain(_TEST_STEM.sub("", Path(path).name.split(".")[0]))


def _plain(stem: str) -> str:
    return stem.replace("_", "").replace("-", "").lower()


def of_documents(found: list[Piece], chance: random.Random) -> list[Pair]:
    """Sentences of documents with a name that one or two chunks define."""
    where: dict[str, list[int]] = defaultdict(list)
    for number, piece in enumerate(found):
        if not piece.flags & (paths.TEST | paths.DOCS):
            for name in piece.chunk.names:
                where[name].append(number)
    made = []
    for piece in found:
        if not piece.flags & paths.DOCS:
            continue
        for sentence in _SENTENCE.split(piece.text):
            for quoted in _QUOTED.findall(sentence)[:2]:
                name = re.split(r"[.:#]+", quoted)[-1]
                defined = where.get(name, [])
                if not 0 < len(defined) <= 2 or len(name) < 4:
                    continue
                said = _MARKUP.sub(lambda match: match.group(1) or " ", sentence)
                if chance.random() < 0.5:
                    said = without(said, name)
                said = " ".join(said.replace("`", " ").split()[:40])
                if said.count(" ") >= 4:
                    made.append(Pair("readme", said, found[defined[0]].text, defined[0]))
    return made


def of_commits(repository: Path, revision: str, first: int, chance: random.Random) -> list[Pair]:
    """Commit subjects, and the changed chunks after the commit."""
    subjects: dict[str, str] = {}
    for commit in history.commits(repository, revision, _MOST_COMMITS):
        query = query_of(commit.subject)
        code = [
            path
            for path in commit.paths
            if content_class(language_of(path.encode()), path.encode()) == "code"
        ]
        if query is not None and 0 < len(code) <= 4:
            subjects.setdefault(commit.id, query)
    chosen = sorted(chance.sample(sorted(subjects), min(_MOST_DIFFS, len(subjects))))
    result = "".join(_diffs(repository, chosen[at : at + 100]) for at in range(0, len(chosen), 100))
    made = []
    for target, diff in enumerate(re.split(r"^(?=[0-9a-f]{40}$)", result, flags=re.MULTILINE)[1:]):
        subject = subjects[diff[:40]]
        for change in re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]:
            path = change.partition("\n")[0].rpartition(" b/")[2].encode()
            language = language_of(path)
            if content_class(language, path) != "code" or paths.flags(path, language) & paths.VENDORED:
                continue
            if paths.flags(path, language) & paths.TEST and chance.random() < 0.7:
                continue
            hunks = re.split(r"^(?=@@ )", change, flags=re.MULTILINE)[1:]
            largest = sorted(hunks, key=lambda hunk: -sum(line[:1] in "+-" for line in hunk.split("\n")))[:2]
            for hunk in largest:
                header, *lines = hunk.split("\n")
                match = _HUNK.match(header)
                lines = [line[1:] for line in lines if line[:1] in (" ", "+")]
                text = "\n".join([match.group(1) if match else "", *lines])[:_LONGEST]
                if len(text) > 2 * _SHORTEST_CODE:
                    made.append(Pair("commit", subject, text, first + target))
    return made


def _diffs(repository: Path, commits: list[str]) -> str:
    """The changes of commits, up to the first missing blob."""
    return subprocess.run(
        ["git", "-C", str(repository), "-c", "core.quotePath=false", "diff-tree", "--stdin", "--root", "-r",
         "-p", "-U8", "--no-renames", "--diff-filter=M", "--no-ext-diff", "--no-textconv"],
        input="\n".join(commits).encode() + b"\n", capture_output=True,
    ).stdout.decode("utf-8", "replace")  # fmt: skip


def chosen(made: list[Pair], chance: random.Random) -> list[Pair]:
    """Sample each kind up to its cap, without queries that many targets answer."""
    answers: dict[str, set[int]] = defaultdict(set)
    for pair in made:
        answers[pair.query.lower()].add(pair.target)
    by_kind: dict[str, list[Pair]] = defaultdict(list)
    for pair in made:
        if len(answers[pair.query.lower()]) <= 2:
            by_kind[pair.kind].append(pair)
    kept: list[Pair] = []
    for kind in KINDS:
        of_kind = list(dict.fromkeys(by_kind[kind]))
        kept += of_kind if len(of_kind) <= CAPS[kind] else chance.sample(of_kind, CAPS[kind])
    return kept


def collect(repository: Path, revision: str) -> list[Pair]:
    """All pairs of one repository."""
    chance = random.Random(f"{SEED}-{repository.name}")
    found = pieces(repository, revision, chance)
    made = of_chunks(found, chance) + of_tests(found) + of_documents(found, chance)
    made += of_commits(repository, revision, len(found), chance)
    return chosen(made, chance)


def main(arguments: list[str]) -> int:
    checkouts, folder, *names = arguments
    Path(folder).mkdir(parents=True, exist_ok=True)
    for repository in json.loads(Path(__file__).with_name("repositories.json").read_text()):
        if names and repository["name"] not in names:
            continue
        found = collect(Path(checkouts, repository["name"]), repository["revision"])
        target = Path(folder, repository["name"] + ".jsonl")
        target.write_text("".join(json.dumps(pair) + "\n" for pair in found))
        print(
            repository["name"],
            *[f"{kind} {n}" for kind, n in Counter(pair.kind for pair in found).items()],
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
