"""The options that several commands share, spelt once."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ctx.errors import CtxError

Command = TypeVar("Command", bound=Callable[..., Any])


def enter(context: click.Context, _parameter: click.Parameter, path: str | None) -> None:
    """Go to `path` as `git -C` does: everything after it is as if the program had been started there."""
    if path is None or context.resilient_parsing:
        return
    try:
        os.chdir(path)
    except OSError as error:
        raise CtxError(f"cannot change to '{path}': {error.strerror}") from None


def root(command: Command) -> Command:
    """Add `-C/--root`, which is taken before the command and after it; two of them add up as in git."""
    option = click.option(
        "-C",
        "--root",
        metavar="PATH",
        is_eager=True,
        expose_value=False,
        callback=enter,
        help="Work as if started in PATH, a repository or a directory inside one.",
    )
    return option(command)


def json_output(command: Command) -> Command:
    """Add `--json-output`; ctx.cli reports errors as JSON too where it is given."""
    return click.option("--json-output", is_flag=True, help="Print JSON for programs.")(command)


def color(command: Command) -> Command:
    """Add `--color`."""
    option = click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="When to colour; auto is on a terminal, unless NO_COLOR is set.",
    )
    return option(command)


def revision_and_branch(revision: str | None, branch: str | None) -> None:
    """Refuse a revision together with a branch."""
    if revision is not None and branch is not None:
        raise click.UsageError("A revision and --branch exclude each other; give one of them.")
