"""Translated words of other languages: rows of the table for which there are too few training pairs."""

from __future__ import annotations

from pathlib import Path

from ctx.text.query import tokens, words_of

_SAYS_NOTHING = "-"


def translations() -> dict[str, list[str]]:
    """The words of `lexicon.txt`, split by the program, with their meanings in English ([] for none)."""
    meanings: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("lexicon.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        english, *languages = [column.strip() for column in line.split("|")]
        for language in languages:
            for form in language.split(","):
                for token in tokens(form):
                    for word in words_of(token):
                        meant = meanings.setdefault(word, [])
                        if english != _SAYS_NOTHING and english not in meant:
                            meant.append(english)
    return meanings
