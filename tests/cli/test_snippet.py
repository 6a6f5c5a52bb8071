"""The choice of the lines of a hit, and their control characters."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ctx.cli.commands.snippet import WHOLE, WINDOW, shown_changes, shown_lines, telling_line
from ctx.text.escaping import LONGEST_LINE, display_line

FILLER = [f"    step_{i}()" for i in range(60)]


def test_short_text_is_shown_whole():
    assert shown_lines("\n".join(FILLER[:WHOLE]), "anything") == list(range(WHOLE))


def test_long_text_without_a_match_is_shown_from_its_start():
    assert shown_lines("\n".join(FILLER), "unrelated") == list(range(WINDOW))


def test_first_line_and_the_lines_that_match():
    lines = ["def renew(session):", *FILLER]
    lines[40] = "    if session.expiresAt < now:"
    lines[42] = "        token = refresh_token(session)"
    shown = shown_lines("\n".join(lines), "refresh the token when it expires")
    assert len(shown) == WINDOW
    assert shown[0] == 0
    assert {40, 42} <= set(shown)
    assert shown[1] < 40


def test_rare_term_weighs_more_than_a_common_one():
    lines = ["begin", *(["    session"] * 50)]
    lines[33] = "    deadline"
    assert 33 in shown_lines("\n".join(lines), "session deadline")


def test_a_later_piece_has_no_first_line_before_a_cut():
    lines = ["    c = next_character()", *FILLER]
    lines[40] = "    peeked = UNQUOTED_NAME"
    text = "\n".join(lines)
    assert shown_changes(text, "unquoted name", ())[0] == 0
    later = shown_changes(text, "unquoted name", (), is_later=True)
    assert later[0] > 1
    assert 40 in later
    assert shown_changes(text, "unrelated", (), is_later=True) == list(range(WINDOW))


def test_blank_lines_beside_a_cut_are_left_out():
    lines = ["def renew(session):", *FILLER]
    lines[33:47] = ["", "", "", "", "", "", "", "    token = fresh()", *([""] * 6)]
    shown = shown_changes("\n".join(lines), "fresh token", ())
    assert shown == [0, 40]
    assert shown_changes("\n\n", "fresh token", ()) == [0]


def test_the_telling_line_of_a_text():
    assert telling_line("\n{\n  'log0': {\n    'timeout': 3,", "timeout of a request") == 3
    assert telling_line("\n{\n  first: 1\n  second: 2", "unrelated") == 2
    assert telling_line("", "unrelated") == 0


@given(
    st.lists(st.sampled_from(["alpha", "beta", "gamma", ""]), max_size=60),
    st.sampled_from(["alpha", "beta gamma", ""]),
)
def test_shown_lines_are_lines_of_the_text_in_order(lines, query):
    text = "\n".join(lines)
    count = text.count("\n") + 1
    shown = shown_lines(text, query)
    assert shown == sorted(set(shown))
    assert shown[0] == 0
    assert shown[-1] < count
    assert len(shown) == (count if count <= WHOLE else WINDOW)


@given(st.text())
def test_no_control_character_is_printed(text):
    line = display_line(text)
    assert not any(unicodedata.category(character) == "Cc" and character != "\t" for character in line)
    assert len(line) <= LONGEST_LINE + 1


def test_control_characters_are_visible():
    assert display_line("\x1b[31mred\x07\r") == "␛[31mred␇"
    assert display_line("a\u202eb") == "a\ufffdb"
    assert display_line("\tx" + "y" * 1000) == "\tx" + "y" * (LONGEST_LINE - 2) + "…"
