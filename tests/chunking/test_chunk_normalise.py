"""The text of a chunk for an embedding model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctx.chunking.normalise import embedded_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n\t\n", ""),
        ("a", "a"),
        ("    a\n\n      b\n   \n    c\n", "a\n  b\nc"),
        ("\ta\n\t\tb", "a\n\tb"),
        ("\ta\n    b", "a\n    b"),
        ("a\r\n\r\n  b\r\n", "a\n  b"),
        ("  a\n  \tb", "a\n\tb"),
        ("    a\n  b", "a\nb"),
    ],
)
def test_shape(text: str, expected: str) -> None:
    assert embedded_text(text, "python") == expected


@pytest.mark.parametrize("language", ["java", "kotlin"])
def test_noise_annotations_are_dropped(language: str) -> None:
    text = '  @Override\n  @SuppressWarnings("all")\n  public @Nullable A f(@NotNull B b, @Named("x") C c) {}'
    assert embedded_text(text, language) == 'public A f(B b, @Named("x") C c) {}'
    assert "@Override" in embedded_text(text, "python")


def test_annotations_that_only_begin_alike_stay() -> None:
    assert embedded_text("@OverrideFoo @Nullable2 int x", "java") == "@OverrideFoo @Nullable2 int x"


@given(st.text(alphabet="ab \t\n", max_size=80))
def test_words_and_their_order_survive(text: str) -> None:
    found = embedded_text(text, None)
    assert found.split() == text.split()
    assert embedded_text(found, None) == found
    assert all(line.strip() for line in found.split("\n") if found)
