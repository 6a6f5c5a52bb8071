"""The command line: finds the command, runs it, and turns every error into one sentence and an exit status.

This is the outermost door: what a command raises ends here. It imports a command only when it is asked for.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import click

from ctx.cli.commands import options, streams
from ctx.errors import FATAL, INTERRUPTED, USAGE, CtxError
from ctx.text.escaping import printable_lines

COMMANDS = {
    "init": "init",
    "deinit": "deinit",
    "index": "index",
    "search": "search",
    "pack": "pack",
    "related": "related",
    "explain": "explain",
    "history": "history",
    "show": "show",
    "plan": "plan",
    "evaluate": "evaluate",
    "status": "status",
    "pin": "pin",
    "gc": "gc",
    "fsck": "fsck",
    "push": "push",
    "fetch": "fetch",
    "verify": "verify",
    "login": "login",
    "logout": "logout",
    "account": "account",
    "privacy": "privacy",
    "mcp": "mcp",
    "setup-agent": "setup_agent",
    "remove-agent": "remove_agent",
    "remove-index": "remove_index",
}
"""Each command with the module of ctx.cli.commands that holds it."""

FOR_HOOKS = {"hook-run": "hook_run", "agent-hook": "agent_hook"}
"""What hooks call and people do not."""

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = COMMANDS.get(cmd_name) or FOR_HOOKS.get(cmd_name)
        if name is None:
            return None
        module = importlib.import_module(f"ctx.cli.commands.{name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the commands that a word which is none may mean, as git does."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if meant := get_close_matches(args[0], COMMANDS):
                text = f"{error.message} Did you mean {' or '.join(map(repr, meant))}?"
                raise click.UsageError(text, ctx) from None
            raise


def print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print version, commit and descriptor, and end."""
    if not wanted or context.resilient_parsing:
        return
    from ctx.cli.commands.version import version_text

    click.echo(version_text())
    context.exit()


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    no_args_is_help=False,
    epilog="`git ctx <command> -h` tells about one command, `git ctx --help` opens the manual.",
)
@options.root
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print version, commit and index descriptor.",
)
def program() -> None:
    """Semantic code search that lives inside git."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    streams.prepare()
    # numpy is imported in half the time when OpenBLAS starts no threads, and nothing here needs them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not given:
        with click.Context(program, info_name="git ctx", **SETTINGS) as context:
            sys.stderr.write(program.get_help(context) + "\n")
        return USAGE
    try:
        status = run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        status = streams.CLOSED_PIPE
    except Exception as error:
        status, message = explain(error)
        report(message, status, as_json=wants_json(given))
    except KeyboardInterrupt:
        status = INTERRUPTED
    streams.finish()
    return status


def wants_json(given: Sequence[str]) -> bool:
    """Whether a program asked: then it is told errors as JSON too."""
    return not {"--json-output", "--json"}.isdisjoint(takewhile(lambda word: word != "--", given))


def run(arguments: list[str]) -> int:
    """Parse and call the command; its errors pass through."""
    try:
        with program.make_context("git ctx", arguments) as context:
            status = program.invoke(context)
    except click.exceptions.Exit as end:
        return end.exit_code
    return status if isinstance(status, int) else 0


def explain(error: Exception) -> tuple[int, str]:
    """The exit status of an error and what the user is told, without the word in front."""
    if isinstance(error, CtxError):
        return error.exit_code, str(error)
    if isinstance(error, click.Abort):
        return INTERRUPTED, "interrupted"
    if isinstance(error, click.UsageError):
        return USAGE, error.format_message() + usage_of(error)
    if os.environ.get("GIT_CTX_TRACE"):
        import traceback

        return FATAL, "".join(traceback.format_exception(error)).rstrip()
    if isinstance(error, OSError) and error.strerror:
        place = f"'{os.fsdecode(error.filename)}': " if isinstance(error.filename, (str, bytes)) else ""
        return FATAL, place + error.strerror + streams.way_out(error)
    kind = type(error).__name__
    return (
        FATAL,
        f"unexpected {kind}: {error}\nThis is a fault of git-ctx. GIT_CTX_TRACE=1 shows where it happened.",
    )


def usage_of(error: click.UsageError) -> str:
    """The lines about usage under a usage error."""
    if error.ctx is None:
        return "\nSee 'git ctx -h'."
    return f"\n{error.ctx.get_usage()}\nSee '{error.ctx.command_path} -h'."


def report(message: str, status: int, *, as_json: bool) -> None:
    """Tell an error on stderr as git does, and to a program that asked for JSON on stdout too."""
    word = "error" if status == USAGE else "fatal"
    if as_json:
        from ctx.cli.commands.json_output import print_json

        first = message.partition("\n")[0]
        streams.forgiving(lambda: print_json({"type": "error", "message": first, "exitCode": status}))
    streams.forgiving(lambda: print(f"{word}: {printable_lines(message)}", file=sys.stderr))
