"""A light stemmer for the English of code and comments.

It removes inflections and the commonest derivations, so that "registering", "registered" and "registration"
share a stem, and leaves short or unusual words unchanged. It is far smaller than Porter's (1980), because a
wrong merge of two identifiers costs more than a missed one.
"""

from __future__ import annotations

_VOWELS = frozenset("aeiouy")
_IRREGULAR = {"used": "use", "using": "use"}

_SUFFIXES = {
    ("", 3): "ings ing ed es s",
    ("", 4): "ements ement ments ment ness ingly edly ly ers er",
    ("", 5): "ors or",
    ("al", 3): "ally",
    ("ant", 3): "ancies",
    ("ant", 4): "ance",
    ("at", 3): "ations ation ators ator ating ated ates ate",
    ("ch", 2): "ches",
    ("ct", 2): "ctions ction",
    ("ent", 3): "encies ency",
    ("ent", 4): "ence",
    ("et", 3): "etions etion",
    ("ic", 3): "ically",
    ("ir", 3): "irations iration",
    ("it", 3): "itions ition",
    ("iz", 3): "izations isations ization isation izers izer izing ized izes ize",
    ("iz", 4): "ising ise",
    ("olv", 1): "olutions olution",
    ("pt", 2): "ptions ption",
    ("sh", 2): "shes",
    ("ss", 1): "sses",
    ("ss", 2): "ssions ssion",
    ("st", 3): "strations stration",
    ("ur", 3): "urations uration",
    ("x", 2): "xes",
    ("y", 2): "ies ied",
    ("y", 3): "ily",
}
"""Suffixes by their replacement and the least number of letters before them."""
_RULES = sorted(
    ((suffix, *rule) for rule, suffixes in _SUFFIXES.items() for suffix in suffixes.split()),
    key=lambda rule: len(rule[0]),
    reverse=True,
)
_BY_LAST = {
    last: tuple(rule for rule in _RULES if rule[0][-1] == last) for last in {rule[0][-1] for rule in _RULES}
}
"""The rules for a last letter: suffix, replacement and letters, the longest suffix first."""


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
