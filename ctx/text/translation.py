"""Translating a question to the English of identifiers.

The lexicon (`lexicon.txt`) has software terms in eight languages. The language of a text is detected by its
script, and for Latin letters by its words; a text with an English function word is English. Words that are
not in the lexicon stay unchanged, such as names in code.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ctx.text.terms import COMBINING, STOP_WORDS

_FILE = os.path.join(os.path.dirname(__file__), "lexicon.txt")
LANGUAGES = ("es", "pt", "fr", "de", "ru", "zh", "ja", "ko")
"""ISO 639 codes, in the order of the lexicon's columns."""
_LATIN = ("es", "pt", "fr", "de")

# Strings, because compiling them would delay every search; `re` does it for the first text that needs it.
_EASTERN = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af々]"
_PIECE = f"{_EASTERN}+|(?:(?!{_EASTERN})\\w)+"
_KANA, _HANGUL = re.compile(r"[\u3040-\u30ff]"), re.compile(r"[\uac00-\ud7af]")
_HIRAGANA = re.compile(r"[\u3040-\u309f]+\Z")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LONGEST = 12
"""Characters of the longest form without blanks."""
_MOST_WORDS = 4
"""Words of the longest form with blanks."""
_FEW = 3
"""Number of words of a text up to which one known word is enough to detect the language."""
_SHORTEST_SIGN = 4
"""Lowest number of letters of a word that identifies the language: shorter ones are abbreviations in code."""
_SHORTEST_ROOT = 5
_SHORTEST_PART = 4
"""Lowest number of letters of a part of a compound."""
_LINKS = ("", "s", "es", "n", "en", "er", "e")
"""German linking elements between the parts of a compound."""
_ENDINGS = {
    language: tuple(endings.split())
    for language, endings in {
        "es": "aciones acion amientos amiento imientos imiento iendo ando ados adas idos idas ado ada ido"
        " ida aban aba amos emos imos aron ieron ar er ir an en as es os a e o n s",
        "pt": "acoes acao amentos amento imentos imento indo endo ando ados adas idos idas ado ada ido"
        " ida avam ava amos emos imos aram eram iram ar er ir am em as es os a e o m s",
        "fr": "ements ement ations ation issements issement issent issant antes ants ante ant aient ait"
        " ees ee ent er ir re es e s t",
        "de": "ungen ung enden ende ern est en em er es et te st e t n s",
        "ru": "иями ями ами иях ях ах иям ям ам ого его ому ему ыми ими ение ения ении ением ться тся ешь"
        " ишь ает яет ют ут ит ат ят ет ал ала али ать ять ить еть ой ей ый ий ая яя ое ее ые ие ов"
        " ев ую юю ии ию ия ть а я ы и у ю е о ь",
    }.items()
}
"""Endings of inflected forms, longest first."""


class Translation(NamedTuple):
    """A text in English, its original language, and the translated words.

    `words` pairs text of the original with its possible meanings, the likeliest first.
    """

    text: str
    language: str
    words: tuple[tuple[str, tuple[str, ...]], ...]


class _Lexicon(NamedTuple):
    """One language: meanings of forms, forms that English has too, function words, question words."""

    language: str
    forms: dict[str, tuple[str, ...]]
    shared: frozenset[str]
    functions: frozenset[str]
    questions: dict[str, str]

    def is_function_word(self, word: str) -> bool:
        return word in self.functions or word in self.questions

    def has(self, word: str) -> bool:
        return word in self.forms or self.is_function_word(word)


_DETECTED = 2_000
"""Characters of a text by which its language is detected."""


def _pieces(text: str) -> list[str]:
    """Return the words of a text, and its runs in scripts without blanks."""
    return re.findall(r"\w+" if text.isascii() else _PIECE, unicodedata.normalize("NFC", text))


def translate(text: str) -> Translation | None:
    """Return the text in English; None if it is English, or nothing in it is known."""
    language = _language(text[:_DETECTED])
    if language is None:
        return None
    lexicon = _lexicon(language)
    pieces = _pieces(text)
    folded = [_fold(piece) for piece in pieces]
    english: list[str] = []
    words: list[tuple[str, tuple[str, ...]]] = []

    def translated(source: str, meanings: tuple[str, ...]) -> None:
        english.append(meanings[0])
        words.append((source, meanings))

    at = 0
    while at < len(pieces):
        size, meanings = _longest(lexicon, folded[at:])
        if at == 0 and not meanings and folded[0] in lexicon.questions:
            english.append(lexicon.questions[folded[0]])
            at += 1
        elif meanings:
            translated(" ".join(pieces[at : at + size]), meanings)
            at += size
        elif re.match(_EASTERN, folded[at]):
            for source, meanings_here in _segments(lexicon, folded[at]):
                if meanings_here is None:
                    if language != "ja" or not _HIRAGANA.match(source):  # an ending or a particle
                        english.append(source)
                elif source in lexicon.questions and not english:
                    english.append(lexicon.questions[source])
                elif meanings_here:
                    translated(source, meanings_here)
            at += 1
        else:
            if not lexicon.is_function_word(folded[at]):
                parts = _inflected(lexicon, folded[at])
                if not parts and pieces[at][1:].islower():
                    parts = _compound(lexicon, folded[at])
                for part in parts:
                    translated(pieces[at], part)
                if not parts:
                    english.append(pieces[at])
            at += 1
    return Translation(" ".join(english), language, tuple(words)) if words else None


def _language(text: str) -> str | None:
    if text.isascii():
        return _latin(text)
    folded = _fold(text)
    if re.search(_EASTERN, folded):
        return _eastern(folded)
    return "ru" if _CYRILLIC.search(folded) else _latin(text)


def _longest(lexicon: _Lexicon, folded: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of first words that make the longest known form, and its meanings."""
    for size in range(min(_MOST_WORDS, len(folded)), 0, -1):
        if meanings := lexicon.forms.get(" ".join(folded[:size])):
            return size, meanings
    return 1, ()


def _segments(lexicon: _Lexicon, run: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """Yield the longest forms in a run without blanks; unknown text has None, function words ()."""
    unknown = ""
    at = 0
    while at < len(run):
        for end in range(min(len(run), at + _LONGEST), at, -1):
            part = run[at:end]
            if end - at == 1 and unknown and part not in lexicon.functions:
                continue
            if lexicon.has(part) and _can_be_word(lexicon, run, at, end):
                if unknown:
                    yield unknown, None
                unknown = ""
                yield part, lexicon.forms.get(part, ())
                at = end
                break
        else:
            unknown += run[at]
            at += 1
    if unknown:
        yield unknown, None


def _can_be_word(lexicon: _Lexicon, run: str, at: int, end: int) -> bool:
    """Return True if a part of a run may be a word.

    A single character only between known words, or before an ending in Hiragana.
    """
    if end - at > 1:
        return True
    rest = run[end:]
    if _HANGUL.match(run[at]):
        return (at == 0 and rest in lexicon.functions | {""}) or (not rest and run[at:] in lexicon.functions)
    if run[at:end] in lexicon.functions or not rest or _HIRAGANA.match(rest[0]):
        return True
    return any(lexicon.has(rest[:size]) for size in range(1, _LONGEST + 1))


def _inflected(lexicon: _Lexicon, word: str) -> list[tuple[str, ...]]:
    """Return the meanings of a word of which the lexicon has another form."""
    if lexicon.language not in _ENDINGS or not word.isalpha():
        return []
    form = _roots(lexicon.language).get(_root(word, lexicon.language))
    return [lexicon.forms[form]] if form else []


def _compound(lexicon: _Lexicon, word: str) -> list[tuple[str, ...]]:
    """Return the meanings of the parts of a German compound; empty unless all of it is known."""
    if lexicon.language != "de" or len(word) < 2 * _SHORTEST_PART:
        return []
    for end in range(len(word) - _SHORTEST_PART, _SHORTEST_PART - 1, -1):
        first = lexicon.forms.get(word[:end]) or lexicon.forms.get(word[:end] + "e")
        if not first:
            continue
        for link in _LINKS:
            if word.startswith(link, end):
                rest = word[end + len(link) :]
                meanings = lexicon.forms.get(rest)
                parts = [meanings] if meanings else _inflected(lexicon, rest) or _compound(lexicon, rest)
                if parts:
                    return [first, *parts]
    return []


def _eastern(folded: str) -> str:
    """Return the language of a text with characters of an East Asian script."""
    if _HANGUL.search(folded):
        return "ko"
    if _KANA.search(folded):
        return "ja"
    runs = [piece for piece in _pieces(folded) if re.match(_EASTERN, piece)]

    def known(language: str) -> int:
        segments = (segment for run in runs for segment in _segments(_lexicon(language), run))
        return sum(len(source) for source, meanings in segments if meanings)

    # Without Kana it is probably Chinese, unless the lexicon has more of it in Japanese.
    return max(("zh", "ja"), key=known)


def _latin(text: str) -> str | None:
    """Return the language of a text in Latin letters, None for English and if undetected."""
    pieces = _pieces(text)
    words = [_fold(piece) for piece in pieces]
    # Ignore names in code.
    plain = [
        word for piece, word in zip(pieces, words, strict=True) if piece[1:].islower() and piece.isalpha()
    ]
    english = {word for word in words if word in STOP_WORDS or word in _ENGLISH}
    if not plain or english & _PLAIN_ENGLISH:
        return None
    best: tuple[int, str] | None = None
    for language in _LATIN:
        lexicon = _lexicon(language)
        if english - lexicon.functions - lexicon.questions.keys():
            continue
        known = sum(_is_known(lexicon, word) for word in plain) + _phrases(lexicon, words)
        functions = sum(lexicon.is_function_word(word) and word not in _SHARED for word in words)
        if known and (known + functions > 1 or len(words) <= _FEW or not text.isascii()):
            best = max(best or (0, ""), (2 * known + functions, language), key=lambda one: one[0])
    return best and best[1]


def _is_known(lexicon: _Lexicon, word: str) -> bool:
    """Return True if a word belongs to the language and not to English."""
    if word in lexicon.forms:
        return word not in lexicon.shared and len(word) >= _SHORTEST_SIGN
    return bool(_compound(lexicon, word))


def _phrases(lexicon: _Lexicon, words: Sequence[str]) -> int:
    """Return the number of forms of several words in a text."""
    return sum(
        " ".join(words[at : at + size]) in lexicon.forms
        for size in range(2, _MOST_WORDS + 1)
        for at in range(len(words) - size + 1)
    )


_ENGLISH = frozenset("the get gets make makes use uses find show like without within".split())
"""Words that mark a text as English, in addition to the stop words."""
_PLAIN_ENGLISH = frozenset(
    "the is are where how what which when why does for and from that this to with of it".split()
)
"""English words that no other language here has: if one occurs, the lexicon is not read."""
_SHARED = frozenset(
    "a as com comment de del des die do dos e el en es et he i in is la le me no on os par se so sans un"
    " war was".split()
)
"""Function words of one language that have a meaning in English, or are names in code."""


def _fold(text: str) -> str:
    """Return lower case without accents; Hangul and Kana are unchanged."""
    lower = (
        unicodedata.normalize("NFKC", text).lower().replace("ß", "ss").replace("ё", "е").replace("й", "\0")
    )
    plain = COMBINING.sub("", unicodedata.normalize("NFD", lower)).replace("\0", "й")
    return unicodedata.normalize("NFC", plain)


def _root(word: str, language: str) -> str:
    """Return a word without its ending, unless too little is left of it."""
    for ending in _ENDINGS[language]:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_ROOT:
            return word[: -len(ending)]
    return word


@cache
def _lines() -> list[list[str]]:
    """Return the cells of each line of the lexicon."""
    with open(_FILE, encoding="utf-8") as stream:
        return [line.rstrip("\n").split(" | ") for line in stream if not line.startswith("#")]


@cache
def _lexicon(language: str) -> _Lexicon:
    """Return the column of one language."""
    column = LANGUAGES.index(language) + 1
    forms: dict[str, list[str]] = {}
    shared: set[str] = set()
    questions: dict[str, str] = {}
    functions: frozenset[str] = frozenset()
    for cells in _lines():
        if len(cells) <= column:
            continue
        own = [form for form in cells[column].strip().split(",") if form]
        if cells[0] == "-":
            functions = frozenset(own)
        elif cells[0].startswith("?"):
            questions.update((form, cells[0][1:]) for form in own)
        else:
            for form in own:
                forms.setdefault(form.rstrip("~"), []).append(cells[0])
            shared.update(form.rstrip("~") for form in own if form.endswith("~"))
    meanings = {form: tuple(each) for form, each in forms.items()}
    return _Lexicon(language, meanings, frozenset(shared), functions, questions)


@cache
def _roots(language: str) -> dict[str, str]:
    """Return the first form with each root."""
    roots: dict[str, str] = {}
    for form in _lexicon(language).forms:
        if " " not in form:
            roots.setdefault(_root(form, language), form)
    return roots
