"""Ask a language model whether each chunk makes sense alone.

    python tests/benchmarks/chunks/opinion.py URL MODEL [--key-variable NAME] [--chunks N] [--files N]
                                         [--language L]… PROJECT…

URL is an OpenAI-compatible server (`URL/v1/chat/completions` is asked), PROJECT a git repository. For each
language N chunks (default 50) are shown with a few lines around them, and the same number of pieces split
by lines, in random order, so that the model cannot tell which is which. Source text of PROJECT is sent to
URL. The key is read from the environment variable NAME. If the answer is none of the words, the model is
asked once more; then it counts as such.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx
from audit import by_lines, files
from boundaries import LISTS

from ctx.chunking import chunk

SEED = 7
WORDS = ("whole", "begins-late", "ends-early", "mixed")
NONE = "no answer"
_AROUND = 6
_LARGEST = 300_000
_ASKED = (
    "A source file was cut into pieces for a search engine. You see one piece between the lines <<< and >>>, "
    "with a few lines of the file before and after it. Judge only where it was cut. Answer with one word: "
    "'whole' when the piece is something that makes sense alone, or a fair part of what is too large for one "
    "piece; 'begins-late' when its first lines continue what stands before it (a lost signature, comment or "
    "decorator); 'ends-early' when its end is missing; 'mixed' when it joins things that have nothing to do "
    "with each other."
)


class Piece(NamedTuple):
    """A piece of a file with the lines around it; `way` is how the file was split."""

    way: str
    shown: str


def pieces(source: bytes, way: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    """The pieces of one file as they are shown."""
    for start, end in ranges:
        before = source[:start].decode(errors="replace").splitlines()[-_AROUND:]
        after = source[end:].decode(errors="replace").splitlines()[:_AROUND]
        text = source[start:end].decode(errors="replace")
        yield Piece(way, "\n".join([*before, "<<<", text, ">>>", *after]))


def ask(client: httpx.Client, url: str, model: str, piece: Piece) -> str:
    """Ask for one of WORDS; NONE for any other answer. Raises httpx.HTTPError."""
    messages = [{"role": "system", "content": _ASKED}, {"role": "user", "content": piece.shown}]
    for _ in range(2):
        body = {"model": model, "messages": messages, "temperature": 0, "max_tokens": 8}
        answer = client.post(f"{url.rstrip('/')}/v1/chat/completions", json=body)
        answer.raise_for_status()
        said = str(answer.json()["choices"][0]["message"]["content"]).lower()
        found = [word for word in WORDS if word in said]
        if len(found) == 1:
            return found[0]
    return NONE


def sample(projects: Sequence[Path], languages: set[str], most: int, number: int) -> dict[str, list[Piece]]:
    """For each language `number` pieces split by syntax and the same number split by lines, shuffled."""
    cut: dict[str, dict[str, list[Piece]]] = defaultdict(lambda: {"syntax": [], "lines": []})
    for project in projects:
        for _, source, language in files(project, most, languages):
            if b"\0" in source or len(source) > _LARGEST:
                continue
            ranges = [(one.start, one.end) for one in chunk(source, language)]
            cut[language]["syntax"] += pieces(source, "syntax", ranges)
            cut[language]["lines"] += pieces(source, "lines", by_lines(source))
    chance = random.Random(SEED)
    chosen = {}
    for language, ways in sorted(cut.items()):
        mixed = [piece for found in ways.values() for piece in chance.sample(found, min(number, len(found)))]
        chance.shuffle(mixed)
        chosen[language] = mixed
    return chosen


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--key-variable")
    parser.add_argument("--chunks", type=int, default=50)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--language", action="append", choices=sorted(LISTS))
    parser.add_argument("projects", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    key = os.environ[options.key_variable] if options.key_variable else None
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    chosen = sample(options.projects, set(options.language or LISTS), options.files, options.chunks)
    print("language | cut | pieces | " + " | ".join(f"{word} %" for word in (*WORDS, NONE)))
    with httpx.Client(headers=headers, timeout=60) as client:
        for language, mixed in chosen.items():
            said: dict[str, Counter[str]] = {"syntax": Counter(), "lines": Counter()}
            for piece in mixed:
                said[piece.way][ask(client, options.url, options.model, piece)] += 1
            for way, counts in said.items():
                shares = [f"{100 * counts[word] / max(1, counts.total()):.0f}" for word in (*WORDS, NONE)]
                print(f"{language} | {way} | {counts.total()} | " + " | ".join(shares))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
