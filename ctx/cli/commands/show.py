"""`git ctx show`: print the lines that a citation names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import paths_fields, print_json, print_lines, shown_path
from ctx.cli.commands.snippet import numbered

if TYPE_CHECKING:
    from ctx.types import CitedLines


@click.command
@click.argument("citations", nargs=-1, required=True, metavar="CITATION...")
@click.option("-p", "--plain", is_flag=True, help="Print the lines alone, without heading and numbers.")
@options.as_json
@options.root
def command(citations: tuple[str, ...], plain: bool, as_json: bool) -> int:
    """Print the lines that a citation names.

    A CITATION is `<blob id>:<first line>-<last line>`, as search prints it. It always names the same text,
    even after the file has changed. An id alone means all lines.
    """
    options.at_most_one({"--plain": plain, "--json": as_json})
    import ctx

    with ctx.open(".") as index:
        found = [index.cited(one) for one in citations]
        prefix = index.repository.prefix
    if as_json:
        print_json({"type": "show_result", "results": [fields(one) for one in found]})
    elif plain:
        sys.stdout.write("".join(one.text + "\n" for one in found))
    else:
        for number, one in enumerate(found):
            print_lines([*[""] * (number > 0), *lines(one, prefix)])
    return 0


def fields(cited: CitedLines) -> dict[str, object]:
    """Return cited lines as JSON fields."""
    from ctx.text.paths import citation

    return {
        "citation": citation(cited.blob, cited.first, cited.last),
        "blob": cited.blob,
        "contentStartLine": cited.first,
        "contentEndLine": cited.last,
        "content": cited.text,
        **paths_fields("paths", cited.paths),
    }


def lines(cited: CitedLines, prefix: bytes) -> Iterator[str]:
    """Yield the citation with the paths in HEAD, then the numbered lines."""
    from ctx.text.paths import SHORT, citation

    places = [f"{shown_path(path, prefix)}:{cited.first}-{cited.last}" for path in cited.paths]
    yield "  ".join([citation(cited.blob, cited.first, cited.last, SHORT), *places])
    shown = range(cited.last - cited.first + 1)
    for _, line in numbered(cited.text, shown, cited.first, lambda line: line.removesuffix("\r")):
        yield f"    {line}"
