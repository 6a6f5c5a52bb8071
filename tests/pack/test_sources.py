"""Tests of excerpts, which follow the syntax of a language."""

from __future__ import annotations

import pytest

from ctx.pack.outline import NONE, outline
from ctx.pack.sources import cut, join, signature, without
from ctx.pack.types import Lines

SOURCES = {
    "python": """\
class Shop:
    OPEN = True

    # Sells.
    def sell(self, thing):
        x = 1
        return x
""",
    "kotlin": """\
class Shop {

    /** Sells. */
    fun sell(thing: String): Int {
        val x = 1
        return x
    }
}
""",
    "java": """\
class Shop {

    /** Sells. */
    int sell(String thing) {
        int x = 1;
        return x;
    }
}
""",
    "javascript": """\
class Shop {

  // Sells.
  sell(thing) {
    const x = 1;
    return x;
  }
}
""",
    "typescript": """\
class Shop {

  // Sells.
  sell(thing: string): number {
    const x = 1;
    return x;
  }
}
""",
    "csharp": """\
class Shop {

    /// Sells.
    int Sell(string thing) {
        var x = 1;
        return x;
    }
}
""",
    "php": """\
<?php
class Shop {

    /** Sells. */
    function sell($thing) {
        $x = 1;
        return $x;
    }
}
""",
    "go": """\
package shop

// Sells.
func (s *Shop) Sell(thing string) int {
\tx := 1
\treturn x
}
""",
    "rust": """\
impl Shop {

    /// Sells.
    fn sell(&self) -> i32 {
        let x = 1;
        x
    }
}
""",
}


@pytest.mark.parametrize("language", SOURCES)
def test_signature_and_documentation_come_first(language):
    source = SOURCES[language]
    lines = source.split("\n")
    made = outline(source.encode(), language)
    (item,) = [one for one in made.items if one.name.rpartition(".")[2].lower() == "sell"]
    text = lines[item.lines.first - 1 : item.lines.last]
    assert "ell" in lines[item.named - 1]
    assert "Sells." in text[0]
    assert "x = 1" not in "\n".join(lines[item.head.first - 1 : item.head.last]).replace("x := 1", "x = 1")
    at = next(number for number, line in enumerate(lines, 1) if "return" in line or line.strip() == "x")
    shown = cut(made, Lines(at, at), False, lambda a, b: 0.0)
    seen = [line for first, last in shown for line in lines[first - 1 : last]]
    assert any("ell(" in line for line in seen)
    if language != "go":
        assert any("Shop" in line for line in seen)
    assert signature(made, Lines(1, len(lines)), item.name.rpartition(".")[2])[-1].last == item.head.last


def test_matching_tests_are_shown_with_their_setup():
    source = (
        "describe('basket', () => {\n  beforeEach(() => { basket = make(); });\n\n"
        "  it('adds a thing', () => {\n    expect(add(1)).toBe(1);\n  });\n\n"
        "  it('paints it', () => {\n    expect(paint()).toBe(2);\n  });\n});\n"
    )
    made = outline(source.encode(), "javascript")
    lines = source.split("\n")
    shown = cut(made, Lines(1, 11), True, lambda a, b: float("adds" in "\n".join(lines[a - 1 : b])))
    seen = "\n".join(line for first, last in shown for line in lines[first - 1 : last])
    assert "adds a thing" in seen
    assert "beforeEach" in seen
    assert "paints it" not in seen


def test_without_a_grammar_the_lines_are_shown():
    assert outline(b"just words\n", None) is NONE
    assert cut(NONE, Lines(3, 9), True, lambda a, b: 0.0) == (Lines(3, 9),)
    assert signature(NONE, Lines(3, 90), "x") == (Lines(3, 14),)


def test_ranges():
    assert join([Lines(9, 9), Lines(1, 3), Lines(2, 5), Lines(7, 7)]) == (Lines(1, 9),)
    assert join([Lines(1, 1), Lines(9, 9)]) == (Lines(1, 1), Lines(9, 9))
    assert without([Lines(1, 9)], [Lines(3, 4), Lines(8, 20)]) == (Lines(1, 2), Lines(5, 7))
    assert without([Lines(2, 3)], [Lines(1, 9)]) == ()
