"""`git ctx show`: print the lines that a citation names."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import paths_fields, print_json
from ctx.text.escaping import escape_control
from ctx.text.paths import from_here, quoted

if TYPE_CHECKING:
    from ctx.types import Cited


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
    if plain and as_json:
        raise click.UsageError("--plain and --json exclude each other; give one of them.")
    import ctx

    with ctx.open(".") as index:
        found = [index.cited(one) for one in citations]
        prefix = index.repository.prefix
    if as_json:
        print_json({"type": "show_result", "results": [fields(one) for one in found]})
    elif plain:
        sys.stdout.write("".join(one.text + "\n" for one in found))
    else:
        sys.stdout.write("\n".join(text(one, prefix) for one in found))
    return 0


def fields(cited: Cited) -> dict[str, object]:
    """Return cited lines as JSON fields."""
    from ctx.search.citations import citation

    return {
        "citation": citation(cited.blob, cited.first, cited.last),
        "blob": cited.blob.hex(),
        "contentStartLine": cited.first,
        "contentEndLine": cited.last,
        "content": cited.text,
        **paths_fields("paths", cited.paths),
    }


def text(cited: Cited, prefix: bytes) -> str:
    """Return cited lines as text: their paths in HEAD, then the numbered lines."""
    from ctx.search.citations import SHORT, citation

    places = [f"{quoted(from_here(path, prefix))}:{cited.first}-{cited.last}" for path in cited.paths]
    width = len(str(cited.last))
    lines = [
        f"    {number:{width}}  {escape_control(line.removesuffix(chr(13)))}".rstrip()
        for number, line in enumerate(cited.text.split("\n"), cited.first)
    ]
    heading = "  ".join([citation(cited.blob, cited.first, cited.last, SHORT), *places])
    return "\n".join([heading, *lines]) + "\n"
