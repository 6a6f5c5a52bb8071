"""Options shared by several commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

import click

from ctx.cli.commands.printing import Result, print_result
from ctx.errors import CtxError

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


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


def together(*decorators: Decorator) -> Decorator:
    """Return the decorator that adds several options, in this order."""

    def add(command: Command) -> Command:
        for decorate in reversed(decorators):
            command = decorate(command)
        return command

    return add


root = click.option(
    "-C",
    "--root",
    metavar="PATH",
    is_eager=True,
    expose_value=False,
    callback=enter,
    help="Work as if started in PATH, a repository or a directory inside one.",
)
"""Allowed before and after the command; repeated options accumulate as in git."""

as_json = click.option("--json", "--json-output", "as_json", is_flag=True, help="Print JSON for programs.")
"""With it, ctx.cli.main prints errors as JSON too."""


def result(command: Callable[..., Result]) -> Callable[..., int]:
    """Add `--json` and `-C` to a function that returns a Result, print that and return its exit status."""

    @wraps(command)
    def run(*, as_json: bool, **given: Any) -> int:
        return print_result(command(**given), as_json)

    decorated: Callable[..., int] = together(as_json, root)(run)
    return decorated


silent = click.option("--silent", is_flag=True, help="Print nothing but errors.")

color = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="When to colour; auto is on a terminal, unless NO_COLOR is set.",
)
recurse_submodules = click.option(
    "--recurse-submodules", is_flag=True, help="Include the submodules that are checked out."
)


def at_most_one(given: Mapping[str, object]) -> str | None:
    """Return the option with a value, if any. Raises click.UsageError for several."""
    named = [option for option, value in given.items() if value]
    if len(named) > 1:
        raise click.UsageError(f"{' and '.join(named)} exclude each other; give one of them.")
    return named[0] if named else None


def from_stdin(text: str) -> str:
    """Return a text, or stdin for `-`."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") if text == "-" else text


def query(words: tuple[str, ...]) -> str:
    """Return the query: the joined arguments, or stdin for `-`. Raises click.UsageError if it is empty."""
    text = from_stdin(" ".join(words))
    if not text.strip():
        raise click.UsageError("The query is empty; say in words or in code what you look for.")
    return text


class WithPathspecs(click.Command):
    """Command that takes arguments after `--` as pathspecs, as git does, and adds them to `--path-filter`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            end = args.index("--")
            ctx.meta["pathspecs"] = tuple(args[end + 1 :])
            args = args[:end]
        return super().parse_args(ctx, args)


def path_filter(text: str = "Only files that a git pathspec matches") -> Decorator:
    """Add `-p/--path-filter`, with the value `paths`."""
    return click.option(
        "-p",
        "--path-filter",
        "paths",
        multiple=True,
        metavar="PATHSPEC",
        callback=lambda context, _parameter, paths: paths + context.meta.get("pathspecs", ()),
        help=f"{text}; may be repeated, and given after `--`.",
    )


def limit(text: str) -> Decorator:
    """Add `-n/--limit`."""
    return click.option("-n", "--limit", type=click.IntRange(1, 1000), metavar="N", help=text)


def one_tree(verb: str, kinds: str = "commit or tree") -> Decorator:
    """Add `--revision` and `--branch`, which exclude each other."""
    return together(
        click.option("--revision", metavar="REV", help=f"{verb} this {kinds}."),
        click.option("--branch", metavar="NAME", help=f"{verb} the tip of this branch."),
    )


_NAMED = "named"


def _note_revision(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_NAMED] = value


def _one_revision(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    at_most_one({"REVISION": value, "--revision": context.meta[_NAMED]})
    return context.meta[_NAMED] if value is None else value


revision_argument = together(
    click.argument("revision", required=False, callback=_one_revision),
    click.option(
        "--revision",
        _NAMED,
        metavar="REV",
        is_eager=True,
        expose_value=False,
        callback=_note_revision,
        help="The same as REVISION.",
    ),
)


def text_of_hits(text: str = "Leave out the text of the hits.") -> Decorator:
    """Add `--no-content`, `--full-name` and `-C`."""
    return together(
        click.option("--no-content", is_flag=True, help=text),
        click.option("--full-name", is_flag=True, help="Print paths from the root of the repository."),
        root,
    )


_OVERLAYS = {
    "--work-tree": ("work tree", "Search HEAD with the files of the work tree: the default in a work tree."),
    "--staged": ("staged", "Search HEAD with the staged files."),
    "--ours": ("ours", "In a conflict, search our side of each file in it."),
    "--theirs": ("theirs", "In a conflict, search their side of each file in it."),
    "--base": ("base", "In a conflict, search the common ancestor of each file in it."),
    "--no-overlay": ("committed", "Search HEAD as it is committed."),
}
"""Options with their names in ctx.types and their help texts."""
_GIVEN, _UNTRACKED = "overlays", "untracked"


def selection(verb: str, limits: str) -> Decorator:
    """Add the options that select a tree, files and hits; `selected` returns them as fields of a Request."""
    overlays = [
        click.option(name, is_flag=True, expose_value=False, callback=_note_overlay, help=text)
        for name, (_, text) in _OVERLAYS.items()
    ]
    languages = "Only this language; may be repeated."
    untracked = "Untracked files too, where status.showUntrackedFiles hides them."
    return together(
        limit(limits),
        path_filter(),
        click.option("--lang", "languages", multiple=True, metavar="NAME", help=languages),
        one_tree(verb),
        *overlays,
        click.option(
            "--untracked", is_flag=True, expose_value=False, callback=_show_untracked, help=untracked
        ),
        click.option(
            "--in",
            "within",
            metavar="RANGE",
            help="Only what differs: A..B, A...B (from the merge base), A^! (a commit), "
            "or A (between A and the work tree).",
        ),
    )


def _note_overlay(context: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        context.meta.setdefault(_GIVEN, []).append(parameter.opts[0])


def _show_untracked(context: click.Context, _parameter: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[_UNTRACKED] = True
        set_for_this_run("status.showUntrackedFiles=all")


def selected(given: dict[str, Any], compares: Callable[[str | None], bool]) -> dict[str, Any]:
    """Return the values of `selection` as fields of a Request, with the chosen overlay on HEAD.

    Without `--in`, `within` is HEAD if the command `compares` trees with this overlay. Raises
    click.UsageError for options that exclude each other.
    """
    at_most_one({"A revision": given["revision"], "--branch": given["branch"]})
    named = given["revision"] or given["branch"]
    meta = click.get_current_context().meta
    overlays: list[str] = meta.get(_GIVEN, [])
    at_most_one(dict.fromkeys(overlays, True))
    if meta.get(_UNTRACKED) and (named or overlays not in ([], ["--work-tree"])):
        raise click.UsageError("--untracked goes with the work tree; leave out what names another tree.")
    if named and overlays and overlays != ["--no-overlay"]:
        raise click.UsageError(f"{overlays[0]} goes with HEAD alone; leave out --revision and --branch.")
    overlay = _OVERLAYS[overlays[0]][0] if overlays else None
    if given["within"] is None and compares(overlay):
        given["within"] = "HEAD"
    if given["within"] is not None:
        if named:
            raise click.UsageError("--in names its trees by itself; leave out --revision and --branch.")
        if overlay not in (None, "work tree", "staged"):
            raise click.UsageError("--in goes with --work-tree or --staged only.")
    return given | {"overlay": overlay}
