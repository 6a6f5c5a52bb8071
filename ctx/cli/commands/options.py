"""Options shared by several commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from ctx.errors import CtxError

Command = TypeVar("Command", bound=Callable[..., Any])


def enter(context: click.Context, _parameter: click.Parameter, path: str | None) -> None:
    """Change the working directory to `path`, as `git -C` does. Raises CtxError."""
    if path is None or context.resilient_parsing:
        return
    try:
        os.chdir(path)
    except OSError as error:
        raise CtxError(f"cannot change to '{path}': {error.strerror}") from None


def set_for_this_run(setting: str) -> None:
    """Set `<name>=<value>` for this process and its children, as `git -c` does."""
    before = os.environ.get("GIT_CONFIG_PARAMETERS", "")
    os.environ["GIT_CONFIG_PARAMETERS"] = f"{before} '{setting}'".lstrip()


def root(command: Command) -> Command:
    """Add `-C/--root`, allowed before and after the command; repeated options accumulate as in git."""
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


def as_json(command: Command) -> Command:
    """Add `--json`, with its older spelling; with it, ctx.cli.main prints errors as JSON too."""
    option = click.option("--json", "--json-output", "as_json", is_flag=True, help="Print JSON for programs.")
    return option(command)


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


def at_most_one(given: Mapping[str, object]) -> str | None:
    """Return the option with a value, if any. Raises click.UsageError for several."""
    named = [option for option, value in given.items() if value]
    if len(named) > 1:
        raise click.UsageError(f"{' and '.join(named)} exclude each other; give one of them.")
    return named[0] if named else None


LIMIT_MAX = 1000


class WithPathspecs(click.Command):
    """Command that takes arguments after `--` as pathspecs, as git does; `pathspecs` returns them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            cut = args.index("--")
            ctx.meta["pathspecs"] = tuple(args[cut + 1 :])
            args = args[:cut]
        return super().parse_args(ctx, args)


def pathspecs(context: click.Context, path_filters: tuple[str, ...]) -> tuple[str, ...]:
    """Return the pathspecs of `--path-filter` and those after `--`."""
    after: tuple[str, ...] = context.meta.get("pathspecs", ())
    return path_filters + after


def limit(text: str) -> Callable[[Command], Command]:
    """Add `-n/--limit`."""
    return click.option("-n", "--limit", type=click.IntRange(1, LIMIT_MAX), metavar="N", help=text)


def path_filter(what: str = "Only files that a git pathspec matches") -> Callable[[Command], Command]:
    """Add `-p/--path-filter`."""
    return click.option(
        "-p",
        "--path-filter",
        "path_filters",
        multiple=True,
        metavar="PATHSPEC",
        help=f"{what}; may be repeated, and given after `--`.",
    )


def languages(command: Command) -> Command:
    """Add `--lang`."""
    text = "Only this language; may be repeated."
    return click.option("--lang", "languages", multiple=True, metavar="NAME", help=text)(command)


def one_tree(revision: str, branch: str) -> Callable[[Command], Command]:
    """Add `--revision` and `--branch` with these help texts; `revision_and_branch` rejects both together."""

    def add(command: Command) -> Command:
        command = click.option("--branch", metavar="NAME", help=branch)(command)
        return click.option("--revision", metavar="REV", help=revision)(command)

    return add


def text_of_hits(leave_out: str = "Leave out the text of the hits.") -> Callable[[Command], Command]:
    """Add `--no-content` and `--full-name`."""

    def add(command: Command) -> Command:
        text = "Print paths from the root of the repository."
        command = click.option("--full-name", is_flag=True, help=text)(command)
        return click.option("--no-content", is_flag=True, help=leave_out)(command)

    return add


def recurse_submodules(command: Command) -> Command:
    """Add `--recurse-submodules`, as `git grep` and `git ls-files` have it."""
    text = "Take in the submodules, as far as they are here."
    return click.option("--recurse-submodules", is_flag=True, help=text)(command)


def within(command: Command) -> Command:
    """Add `--in`; `one_range` returns its value."""
    return click.option(
        "--in",
        "within",
        metavar="RANGE",
        help="Only what differs: A..B, A...B (since they parted), A^! (a commit), A (the work tree since A).",
    )(command)


def one_range(text: str | None, wanted: bool, overlay: str | None, revision: str | None) -> str | None:
    """Return the range of `--in`, or HEAD if only a comparison is `wanted`. Raises click.UsageError."""
    if text is None and not wanted:
        return None
    if revision is not None:
        raise click.UsageError("--in names its trees by itself; leave out --revision and --branch.")
    if overlay not in (None, "work tree", "staged"):
        raise click.UsageError("--in goes with --work-tree and --staged only; give one of them, or neither.")
    return "HEAD" if text is None else text


_OVERLAYS = {
    "--work-tree": ("work tree", "Search HEAD with the files as they lie there: the default in a work tree."),
    "--staged": ("staged", "Search HEAD with what is staged, not with the work tree."),
    "--ours": ("ours", "In a conflict, search our side of each file in it."),
    "--theirs": ("theirs", "In a conflict, search their side of each file in it."),
    "--base": ("base", "In a conflict, search what both sides of each file began with."),
    "--no-overlay": ("committed", "Search HEAD as it is committed."),
}
"""Options with their names in ctx.index, which is imported only for a search, and their help texts."""
_GIVEN, _UNTRACKED = "overlays", "untracked"


def overlay(command: Command) -> Command:
    """Add the options that choose the overlay on HEAD; `one_overlay` returns the choice."""
    command = click.option(
        "--untracked",
        is_flag=True,
        expose_value=False,
        callback=_show_untracked,
        help="Untracked files too, where status.showUntrackedFiles hides them.",
    )(command)
    for option, (_, text) in reversed(_OVERLAYS.items()):
        add = click.option(option, is_flag=True, expose_value=False, callback=_note_overlay, help=text)
        command = add(command)
    return command


def _note_overlay(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        context.meta.setdefault(_GIVEN, []).append(parameter.opts[0])


def _show_untracked(context: click.Context, _parameter: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[_UNTRACKED] = True
        set_for_this_run("status.showUntrackedFiles=all")


def one_overlay(context: click.Context, named: str | None) -> str | None:
    """Return the chosen overlay on HEAD, None for the default.

    Raises click.UsageError for two overlays, and for an overlay together with a revision.
    """
    given: list[str] = context.meta.get(_GIVEN, [])
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other; give one of them.")
    if context.meta.get(_UNTRACKED) and (named is not None or given not in ([], ["--work-tree"])):
        raise click.UsageError(
            "--untracked goes with the work tree alone; leave out what names another tree."
        )
    if not given:
        return None
    if named is not None and given != ["--no-overlay"]:
        raise click.UsageError(f"{given[0]} goes with HEAD alone; leave out --revision and --branch.")
    return _OVERLAYS[given[0]][0]


def revision_and_branch(revision: str | None, branch: str | None) -> None:
    """Raise click.UsageError for a revision together with a branch."""
    if revision is not None and branch is not None:
        raise click.UsageError("A revision and --branch exclude each other; give one of them.")


def silent(command: Command) -> Command:
    """Add `--silent`."""
    return click.option("--silent", is_flag=True, help="Print nothing but errors.")(command)
