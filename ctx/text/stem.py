"""A light stemmer for the English of code and comments.

It removes inflections and the commonest derivations, so that "registering", "registered" and "registration"
share a stem, and leaves short or unusual words unchanged. It is far smaller than Porter's (1980), because a
wrong merge of two identifiers costs more than a missed one.
"""

from __future__ import annotations

_VOWELS = frozenset("aeiouy")
_IRREGULAR = {"used": "use", "using": "use"}

# Longest first; each with its replacement and the letters that must remain before it.
_SUFFIXES = (
    ("strations", "st", 3),
    ("stration", "st", 3),
    ("urations", "ur", 3),
    ("uration", "ur", 3),
    ("irations", "ir", 3),
    ("iration", "ir", 3),
    ("olutions", "olv", 1),
    ("olution", "olv", 1),
    ("etions", "et", 3),
    ("etion", "et", 3),
    ("izations", "iz", 3),
    ("isations", "iz", 3),
    ("ization", "iz", 3),
    ("isation", "iz", 3),
    ("ations", "at", 3),
    ("ation", "at", 3),
    ("itions", "it", 3),
    ("ition", "it", 3),
    ("ically", "ic", 3),
    ("encies", "ent", 3),
    ("ancies", "ant", 3),
    ("ements", "", 4),
    ("ement", "", 4),
    ("izers", "iz", 3),
    ("izer", "iz", 3),
    ("izing", "iz", 3),
    ("ising", "iz", 4),
    ("ized", "iz", 3),
    ("izes", "iz", 3),
    ("ize", "iz", 3),
    ("ise", "iz", 4),
    ("ments", "", 4),
    ("ment", "", 4),
    ("ators", "at", 3),
    ("ator", "at", 3),
    ("ating", "at", 3),
    ("ated", "at", 3),
    ("ates", "at", 3),
    ("ate", "at", 3),
    ("ctions", "ct", 2),
    ("ction", "ct", 2),
    ("ssions", "ss", 2),
    ("ssion", "ss", 2),
    ("ptions", "pt", 2),
    ("ption", "pt", 2),
    ("ency", "ent", 3),
    ("ance", "ant", 4),
    ("ence", "ent", 4),
    ("ness", "", 4),
    ("ingly", "", 4),
    ("edly", "", 4),
    ("ally", "al", 3),
    ("ily", "y", 3),
    ("ly", "", 4),
    ("ies", "y", 2),
    ("ied", "y", 2),
    ("sses", "ss", 1),
    ("xes", "x", 2),
    ("ches", "ch", 2),
    ("shes", "sh", 2),
    ("ings", "", 3),
    ("ing", "", 3),
    ("ers", "", 4),
    ("ors", "", 5),
    ("er", "", 4),
    ("or", "", 5),
    ("ed", "", 3),
    ("es", "", 3),
    ("s", "", 3),
)
_BY_LAST = {
    last: tuple(rule for rule in _SUFFIXES if rule[0][-1] == last) for last in {s[0][-1] for s in _SUFFIXES}
}


def stem(word: str) -> str:
    """Return the stem of a lower-case word.

    Words of up to three letters or with others than a-z are unchanged.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    shorter = _shorten(word)
    # The result may itself be a derivation (clustered, cluster, clust), but not a plural.
    while len(shorter) < len(word) and shorter[-1] != "s":
        word, shorter = shorter, _shorten(shorter)
    return shorter


def _shorten(word: str) -> str:
    for suffix, replacement, remain in _BY_LAST.get(word[-1], ()):
        if word.endswith(suffix) and len(word) - len(suffix) >= remain:
            head = word[: -len(suffix)]
            if _VOWELS.isdisjoint(head) or (suffix == "s" and head[-1] in "suc"):
                continue
            if not replacement and len(head) > 3 and head[-1] == head[-2] and head[-1] not in "lsz":
                head = head[:-1]
            return _without_final_e(head + replacement)
    return _without_final_e(word)


def _without_final_e(word: str) -> str:
    if len(word) > 3 and word[-1] == "e" and word[-2] != "e":
        return word[:-1]
    return word
