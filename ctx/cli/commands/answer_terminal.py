"""Answers on a terminal, highlighted by Pygments through rich. Imported only for coloured output."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from ctx.cli.commands.answer_groups import Group, grouped, signature_of
from ctx.cli.commands.answer_text import changed_lines, cite, closing_line, no_text, remarks, sign_of
from ctx.cli.commands.printing import shown_path
from ctx.cli.commands.snippet import matched_spans, shown_changes
from ctx.text.escaping import display_line, escape_control
from ctx.types import Answer, Hit

THEME = "ansi_dark"
"""Theme with the terminal's own sixteen colours, readable on its background."""

MATCH = "bold red"
"""Style of the words of the query, as in `git grep`."""

LEXERS = {
    "apex": "java",
    "astro": "html",
    "commonlisp": "common-lisp",
    "embeddedtemplate": "html",
    "fsharp_signature": "fsharp",
    "hack": "php",
    "ocaml_interface": "ocaml",
    "qmljs": "qml",
    "svelte": "html",
}
"""Languages with their Pygments names, or with the most similar language that Pygments has."""


def print_coloured(
    answer: Answer, shown: Sequence[Hit], query: str, prefix: bytes, *, with_text: bool
) -> None:
    """Print each shown hit as `path:first-last  symbol  kind  score`.

    The first of each file has a highlighted snippet below it.
    """
    console = Console(
        file=sys.stdout, force_terminal=True, highlight=False, soft_wrap=not sys.stdout.isatty()
    )
    if answer.message:
        console.print(Text(escape_control(answer.message), "yellow"))
        console.print()
    for group in grouped(shown) if with_text else [Group(hit, [], []) for hit in shown]:
        hit = group.best
        console.print(heading(hit, prefix), soft_wrap=True)
        for style, line in remarks(hit, prefix):
            console.print(Text(f"    {line}", style), soft_wrap=True)
        if with_text:
            text = hit.text
            if text is None:
                console.print(Text(f"  {no_text(hit)}", "yellow"), soft_wrap=True)
            else:
                print_snippet(console, hit, text, query)
            for further in further_lines(group, prefix, query):
                console.print(further, no_wrap=True, overflow="ellipsis")
            console.print()
    console.print(Text(closing_line(answer, shown=len(shown)), "dim"), soft_wrap=True)


def further_lines(group: Group, prefix: bytes, query: str) -> Iterator[Text]:
    """Yield the signature of each further hit of a file, and a line for each test."""
    lines = [signature_of(hit, query) for hit in group.others]
    width = max((len(str(number)) for number, _ in lines), default=0)
    for number, text in lines:
        yield Text.assemble(("  also ", "dim"), (f"{number:>{width}}", "green"), f"  {text}")
    for hit in group.tests:
        place = f"{shown_path(hit.path, prefix)}:{hit.position.start_line}"
        yield Text.assemble(("  tested by ", "dim"), (place, "magenta"), f"  {display_line(hit.symbol)}")


def heading(hit: Hit, prefix: bytes) -> Text:
    """Return the line above a snippet."""
    position = hit.position
    return Text.assemble(
        (shown_path(hit.path, prefix), "magenta"),
        (f":{position.start_line}-{position.end_line}", "green"),
        *([("  " + display_line(hit.symbol), "bold")] if hit.symbol else []),
        (f"  {hit.kind}", "cyan"),
        (f"  {hit.score:.2f}  {cite(hit)}", "dim"),
    )


def lexer(language: str, code: str) -> Lexer:
    """Return the Pygments lexer of a language.

    Chosen by language, because for file names Pygments loads every lexer that claims the extension.
    """
    name = LEXERS.get(language, language)
    try:
        # A chunk of PHP rarely contains the opening tag.
        return get_lexer_by_name(name, stripnl=False, startinline="<?" not in code)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def print_snippet(console: Console, hit: Hit, text: str, query: str) -> None:
    """Print some lines of a text. The whole text is highlighted, so that cut strings keep their colour."""
    raw = text.split("\n")
    code = "\n".join(display_line(line) for line in raw)
    syntax = Syntax(code, lexer(hit.language or "text", code), theme=THEME, tab_size=4)
    lines = syntax.highlight(code).split("\n", allow_blank=True)
    width, before = len(str(hit.position.end_line)), -1
    changed, sign = changed_lines(hit), sign_of(hit)
    first, signature = hit.position.start_line, hit.signature
    is_later = signature is not None and signature[0] < first
    if signature is not None and is_later:
        gutter = f"  {signature[0]:>{width}}  "
        line = Text.assemble((gutter, "dim"), display_line(signature[1]))
        for start, end in matched_spans(line.plain, query):
            line.stylize(MATCH, start, end)
        console.print(line, no_wrap=True, overflow="ellipsis")
        before = signature[0] - first
    code_start = max(0, signature[0] - first) if signature else 0
    for number in shown_changes(text, query, changed, code_start, is_later=is_later):
        if number != before + 1:
            console.print(Text(f"  {'⋮':>{width}}", "dim"))
        mark = sign if number in changed else " "
        gutter = f"{mark} {hit.position.start_line + number:>{width}}  "
        line = lines[number] if number < len(lines) else Text()
        line.expand_tabs(4)
        for start, end in matched_spans(line.plain, query):
            line.stylize(MATCH, start, end)
        console.print(Text.assemble((gutter, "dim"), line), no_wrap=True, overflow="ellipsis")
        before = number
