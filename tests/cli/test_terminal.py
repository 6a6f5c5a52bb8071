"""Colours: every language finds what tells its tokens apart, quickly."""

from __future__ import annotations

import pytest
from pygments.token import Token

from ctx.chunking.language_table import EXTENSIONS
from ctx.cli.commands.answer_terminal import LEXERS, lexer


def test_every_language_has_a_lexer():
    for language in {*EXTENSIONS.values(), "text", "no such language"}:
        assert list(lexer(language, "a\n").get_tokens("a\n"))


@pytest.mark.parametrize("language", sorted(LEXERS))
def test_other_names_are_known_to_pygments(language):
    assert lexer(language, "").name != "Text only"


def test_php_without_its_tag():
    code = "function renew($session) { return 1; }\n"
    assert (Token.Keyword, "function") in lexer("php", code).get_tokens(code)
