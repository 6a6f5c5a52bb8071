"""`git ctx pack`: make, store and update packs of excerpts for a task within a token budget."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.printing import note
from ctx.cli.commands.progress import open_index, reporter_for
from ctx.errors import NO_HITS, CtxError, StoreUnusable

if TYPE_CHECKING:
    from ctx.index import Index
    from ctx.pack.making import PackResult

BUDGET, BUDGET_MAX = 8_000, 1_000_000
FILES, FILES_MAX = 40, 1_000
"""Defaults and limits as in ctx.pack.types, which is imported only to make a pack."""
FORMATS = ("markdown", "xml", "json")
TOKENIZERS = ("o200k_base", "cl100k_base")
_LOG_PART = 1 << 20
"""Bytes to read from each end of an error log."""


pack_options = options.together(
    click.option(
        "--budget-tokens",
        "budget",
        type=click.IntRange(1, BUDGET_MAX),
        metavar="N",
        help=f"At most N tokens; {BUDGET:,} by default.",
    ),
    click.option(
        "--max-files",
        type=click.IntRange(1, FILES_MAX),
        metavar="N",
        help=f"At most N files; {FILES} by default.",
    ),
    click.option("--revision", metavar="REV", help="Use this commit or tree; the work tree by default."),
)
"""Fields of PackOptions, None if they are not given."""


def choice(option: str, values: tuple[str, ...], text: str) -> options.Decorator:
    """Add an option with a few values, the first of which is the default."""
    text = f"{text}; {values[0]} by default."
    return click.option(option, type=click.Choice(values), metavar="|".join(values), help=text)


@click.command(options_metavar="[OPTIONS]")
@click.option("--task", metavar="TEXT", help="The task; `-` reads it from stdin.")
@click.option("--update", metavar="PACK", help="Pack only what has changed since PACK was made.")
@pack_options
@choice("--tokenizer", TOKENIZERS, "The tokenizer that counts")
@click.option(
    "--error-log",
    metavar="FILE",
    help="Prefer files, lines and functions that a log or a stack trace names; `-` reads stdin.",
)
@click.option(
    "--in",
    "within",
    metavar="RANGE",
    help="Prefer what differs: A..B, A...B, A^! (a commit), or A (against the work tree).",
)
@choice("--format", FORMATS, "The format of the text")
@click.option("--stdout", is_flag=True, help="Print the text.")
@click.option("--list", "listing", is_flag=True, help="List the stored packs, the newest first.")
@click.option("--read", "name", metavar="PACK", help="Print the text of PACK.")
@options.as_json
@options.root
def command(
    task: str | None,
    update: str | None,
    error_log: str | None,
    stdout: bool,
    listing: bool,
    name: str | None,
    as_json: bool,
    **pack: Any,
) -> int:
    """Collect excerpts for a task within a token budget.

    The text is for a language model. The pack is stored in the git directory, readable by you alone, and
    named by its slug. PACK is a slug, the beginning of one, or `latest`. --update packs what has changed
    since, and refers to what still holds; options that are not given are those of PACK. The exit status is 1
    if the pack has no files.
    """
    given = {key: value for key, value in pack.items() if value is not None}
    alone = [word for word, value in (("--list", listing), ("--read", name is not None)) if value]
    if alone and (len(alone) > 1 or task is not None or update is not None or given or error_log):
        raise click.UsageError(f"{alone[0]} makes no pack; leave out the options of one.")
    options.at_most_one({"--stdout": stdout, "--json": as_json})
    if not alone and task is None and update is None:
        raise click.UsageError(
            "Give a task (--task), a pack to update (--update) or to read (--read), or --list."
        )
    from ctx.cli.commands import pack_output

    text = None if task is None else options.from_stdin(task)
    log = None if error_log is None else read_log(error_log)
    reporter = reporter_for()
    with open_index(reporter) as index:
        if listing:
            pack_output.print_list(index.packs.list(), as_json=as_json)
            return 0
        if name is not None:
            return read(index, name, as_json=as_json)
        if update is None:
            from ctx.pack.types import PackOptions

            made = index.pack(text or "", PackOptions(**given), log=log)
        else:
            from ctx.pack.updating import UpdateOptions

            parent = index.packs.read(index.packs.find(update))
            made = index.update_pack(parent, UpdateOptions(text, **given), log=log)
        reporter.close()
        return deliver(index, made, stdout=stdout, as_json=as_json)


def deliver(index: Index, made: PackResult, *, stdout: bool, as_json: bool) -> int:
    """Store a pack and print the requested output; print the whole pack if it cannot be stored."""
    from ctx.cli.commands.pack_output import print_manifest, print_summary

    empty = not made.pack.files and made.pack.delta is None
    stored = False
    if not empty:
        try:
            index.packs.write(made.pack, made.prompt)
            stored = True
        except StoreUnusable as error:
            note(f"the pack is not stored: {error}", "warning")
            stdout = stdout or not as_json
    if as_json:
        print_manifest(made.pack)
    elif stdout:
        sys.stdout.write(made.prompt)
    else:
        print_summary(made.pack, index.packs.place(made.pack) if stored else None)
    return NO_HITS if empty else 0


def read(index: Index, name: str, *, as_json: bool) -> int:
    """Print a stored pack."""
    from ctx.cli.commands.pack_output import print_manifest

    pack = index.packs.read(index.packs.find(name))
    if as_json:
        print_manifest(pack)
        return 0
    text = index.packs.prompt(pack)
    if pack.delta is not None and pack.delta.complete is None and not index.packs.has(pack.delta.parent):
        note(
            f"this pack refers to {pack.delta.parent}, which no longer exists: "
            f"`git ctx pack --update {pack.slug}` packs everything again",
            "warning",
        )
    sys.stdout.write(text)
    return 0


def read_log(path: str) -> str:
    """Return both ends of an error log. Raises CtxError if it cannot be read."""
    from ctx.storage.regular_files import open_regular

    if path == "-":
        return sys.stdin.buffer.read(2 * _LOG_PART).decode("utf-8", "replace")
    try:
        with open_regular(path) as file:
            data = file.read(_LOG_PART)
            size = os.fstat(file.fileno()).st_size
            if size > _LOG_PART:
                file.seek(max(_LOG_PART, size - _LOG_PART))
                data += b"\n" + file.read(_LOG_PART)
    except OSError as error:
        raise CtxError(f"the error log '{path}' cannot be read: {error.strerror or error}") from None
    return data.decode("utf-8", "replace")
