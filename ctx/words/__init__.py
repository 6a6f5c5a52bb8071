"""Words: how text becomes the terms that are counted, and the model's words that are embedded.

A token is what the pattern finds (an identifier, a prose word, a number of three digits and more).
A token is split at underscores, case changes and digits into words; a term is the stem of a word, or
the whole of a compound identifier with its words run together, so that `SessionStore`, `session_store`
and `sessionStore` share a term. Terms are stored as 40 bits of their hash: a repository of a million
different terms mistakes a term it never saw for another once in a million queries.
"""

from __future__ import annotations

from ctx.words.terms import DEFINITION, TEXT, query_terms, split_words, term_hash
from ctx.words.vocabulary import Counts, Vocabulary

VERSION = 1
"""The version of the words layer: a new one recounts words and costs no parse and no embedding."""

__all__ = ["DEFINITION", "TEXT", "VERSION", "Counts", "Vocabulary", "query_terms", "split_words", "term_hash"]
