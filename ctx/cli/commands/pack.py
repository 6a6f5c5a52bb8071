"""`git ctx pack`: make, store and update packs of excerpts for a task within a token budget."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.progress import reporter_for
from ctx.cli.commands.search import announce
from ctx.errors import NO_HITS, CtxError, StoreUnusable
from ctx.text.escaping import escape_control

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


@click.command(short_help="Pack excerpts for a task within a number of tokens.", options_metavar="[OPTIONS]")
@click.option("--task", metavar="TEXT", help="What is to be done; `-` reads it from stdin.")
@click.option("--update", metavar="PACK", help="Only what has changed since PACK was made.")
@click.option(
    "--budget-tokens",
    "budget",
    type=click.IntRange(1, BUDGET_MAX),
    metavar="N",
    help=f"The text has at most N tokens; {BUDGET:,} by default.",
)
@click.option(
    "--max-files",
    type=click.IntRange(1, FILES_MAX),
    metavar="N",
    help=f"At most N files; {FILES} by default.",
)
@click.option(
    "--tokenizer",
    type=click.Choice(TOKENIZERS),
    metavar="|".join(TOKENIZERS),
    help=f"Whose tokens are counted; {TOKENIZERS[0]} by default.",
)
@click.option(
    "--error-log",
    metavar="FILE",
    help="Files, lines and functions that a log or a stack trace names come first.",
)
@click.option(
    "--revision", metavar="REV", help="Pack this commit or tree; by default the files as they lie there."
)
@click.option(
    "--in",
    "within",
    metavar="RANGE",
    help="What differs comes first: A..B, A...B, A^! (a commit), or A (the work tree since A).",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    metavar="|".join(FORMATS),
    help=f"The format of the text; {FORMATS[0]} by default.",
)
@click.option("--stdout", is_flag=True, help="Print the text.")
@click.option("--copy", is_flag=True, help="Copy the text to the clipboard.")
@click.option("--list", "listing", is_flag=True, help="List the packs that are kept, the newest first.")
@click.option("--read", "name", metavar="PACK", help="Print the text of PACK.")
@options.as_json
@options.root
def command(
    task: str | None,
    update: str | None,
    budget: int | None,
    max_files: int | None,
    tokenizer: str | None,
    error_log: str | None,
    revision: str | None,
    within: str | None,
    form: str | None,
    stdout: bool,
    copy: bool,
    listing: bool,
    name: str | None,
    as_json: bool,
) -> int:
    """Pack what a task needs of one tree into a text for a language model, within a number of tokens.

    The pack is kept in the git directory, readable by you alone, and named by its slug. PACK is a slug, the
    beginning of one, or `latest`. With --update what has changed since is packed, and what still holds is
    referred to; options that are not given are those of PACK.
    """
    making = (budget, max_files, tokenizer, error_log, revision, within, form)
    alone = [word for word, given in (("--list", listing), ("--read", name is not None)) if given]
    if alone and (len(alone) > 1 or task is not None or update is not None or any(making)):
        raise click.UsageError(f"{alone[0]} makes no pack; leave out the options of one.")
    if stdout and as_json:
        raise click.UsageError("--stdout and --json exclude each other; give one of them.")
    if not alone and task is None and update is None:
        raise click.UsageError(
            "Give a task (--task), a pack to update (--update) or to read (--read), or --list."
        )
    if copy:
        from ctx.cli.commands.clipboard import require_clipboard

        require_clipboard()
    import ctx

    if alone:
        with ctx.open(".") as index:
            if listing:
                from ctx.cli.commands.pack_output import print_list

                print_list(index.packs.list(), as_json=as_json)
                return 0
            assert name is not None
            return read(index, name, copy=copy, as_json=as_json)
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if task == "-" else task
    log = None if error_log is None else read_log(error_log)
    reporter = reporter_for()
    with reporter, ctx.open(".", on_progress=reporter.progress, on_plan=announce) as index:
        if update is None:
            from ctx.pack.types import PackOptions

            given: dict[str, Any] = {
                "budget": budget, "max_files": max_files, "tokenizer": tokenizer, "format": form,
                "revision": revision, "within": within,
            }  # fmt: skip
            given = {key: value for key, value in given.items() if value is not None}
            made = index.pack(text or "", PackOptions(**given), log=log)
        else:
            from ctx.pack.updating import UpdateOptions

            parent = index.packs.read(index.packs.find(update))
            changes = UpdateOptions(text, budget, max_files, tokenizer, form, revision, within)
            made = index.update_pack(parent, changes, log=log)
        reporter.close()
        return hand_on(index, made, stdout=stdout, copy=copy, as_json=as_json)


def hand_on(index: Index, made: PackResult, *, stdout: bool, copy: bool, as_json: bool) -> int:
    """Store a pack and print the requested output; print the whole pack if it cannot be stored."""
    from ctx.cli.commands.pack_output import print_manifest, print_summary

    empty = not made.pack.files and made.pack.delta is None
    kept = False
    if not empty:
        try:
            index.packs.write(made.pack, made.prompt)
            kept = True
        except StoreUnusable as error:
            print(escape_control(f"warning: the pack is not kept: {error}"), file=sys.stderr)
            stdout = stdout or not (copy or as_json)
    if copy:
        from ctx.cli.commands.clipboard import copy_text

        copy_text(made.prompt)
    if as_json:
        print_manifest(made.pack)
    elif stdout:
        sys.stdout.write(made.prompt)
    else:
        print_summary(made.pack, index.packs.place(made.pack) if kept else None)
    return NO_HITS if empty else 0


def read(index: Index, name: str, *, copy: bool, as_json: bool) -> int:
    """Print a stored pack."""
    from ctx.cli.commands.pack_output import print_manifest

    pack = index.packs.read(index.packs.find(name))
    if as_json:
        print_manifest(pack)
        return 0
    text = index.packs.prompt(pack)
    if pack.delta is not None and pack.delta.complete is None and not index.packs.has(pack.delta.parent):
        print(
            f"warning: this pack refers to {pack.delta.parent}, which is gone: "
            f"`git ctx pack --update {pack.slug}` sends everything again",
            file=sys.stderr,
        )
    if copy:
        from ctx.cli.commands.clipboard import copy_text

        copy_text(text)
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
