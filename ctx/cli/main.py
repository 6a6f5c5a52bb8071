"""Entry point of the command line: dispatch to a command, and errors as messages with exit statuses.

No exception leaves this module. A command's module is imported only when the command is run.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from types import FrameType
from typing import Any, NoReturn

import click

from ctx.cli.commands import options, streams
from ctx.errors import FATAL, INTERRUPTED, USAGE, CtxError, Ended
from ctx.maintenance import local_log
from ctx.text.escaping import escape_control_lines

GROUPS = {
    "Search": ("search", "related", "history", "show"),
    "Understand code for a task": ("explain", "pack"),
    "Maintain the index": (
        "index", "init", "deinit", "status", "plan", "pin", "gc", "fsck", "remove-index", "evaluate",
    ),
    "Share the index": ("push", "fetch", "verify"),
    "Coding agents": ("mcp", "setup-agent", "remove-agent"),
    "Model services": ("model",),
}  # fmt: skip
"""Commands, under the headings of the help. `setup-agent` is in ctx.cli.commands.setup_agent."""

COMMANDS = tuple(name for names in GROUPS.values() for name in names)
FOR_HOOKS = ("hook-run", "agent-hook")
"""Hidden commands that hooks call."""
OLD_NAMES = ("login", "logout", "account", "privacy")
"""Hidden names of the subcommands of `model`, which were commands in 0.1.0."""

SETTINGS: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


def load(name: str) -> click.Command:
    """Import the module of a command and return the command."""
    module = importlib.import_module(f"ctx.cli.commands.{name.replace('-', '_')}")
    command: click.Command = module.command
    return command


class LazyGroup(click.Group):
    """A group that imports its commands on demand and lists them under headings."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OLD_NAMES:
            from ctx.cli.commands.model import command

            return command.commands[cmd_name]
        return load(cmd_name) if cmd_name in COMMANDS + FOR_HOOKS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(f"{name:{width}}", load(name).get_short_help_str(80)) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; suggest similar names for an unknown one, as git does."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            if meant := get_close_matches(args[0], COMMANDS):
                text = f"{error.message} Did you mean {' or '.join(map(repr, meant))}?"
                raise click.UsageError(text, ctx) from None
            raise


def print_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print version, commit, index descriptor and channel, and exit."""
    if not wanted or context.resilient_parsing:
        return
    from ctx import _version
    from ctx.storage.descriptor import embedded_model

    commit = _version.commit()
    click.echo(f"git-ctx {_version.__version__}\ncommit {commit}")
    click.echo(f"descriptor {embedded_model()}\nchannel {_version.channel(commit)}")
    context.exit()


def enable_logging(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Log this run, as `ctx.localLogging` does for all runs."""
    if wanted and not context.resilient_parsing:
        options.set_for_this_run("ctx.localLogging=true")


@click.group(
    cls=LazyGroup,
    context_settings=SETTINGS,
    no_args_is_help=False,
    epilog="`git ctx <command> -h` describes one command, `git ctx --help` opens the manual.",
)
@options.root
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print version, commit, index descriptor and channel.",
)
@click.option(
    "--enable-local-logging",
    is_flag=True,
    expose_value=False,
    callback=enable_logging,
    help="Log this run in the index directory: command, time, user and exit status.",
)
def program() -> None:
    """Semantic code search that lives inside git."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    streams.prepare()
    # Without OpenBLAS threads, which are not needed, numpy is imported in half the time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if not given:
        with click.Context(program, info_name="git ctx", **SETTINGS) as context:
            sys.stderr.write(program.get_help(context) + "\n")
        return USAGE
    try:
        with ended_in_order():
            status = run(given)
            sys.stdout.flush()
    except BrokenPipeError:
        status = streams.CLOSED_PIPE
    except Exception as error:
        status, message = explain(error)
        report(message, status, as_json=wants_json(given))
    except Ended as end:
        status = end.exit_code
    except KeyboardInterrupt:
        status = INTERRUPTED
    streams.finish()
    local_log.current.write(status)
    return status


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Raise `Ended` on SIGINT, SIGTERM and SIGHUP, except for signals that the caller ignores."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    ours = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    received: list[int] = []

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        received.append(number)
        raise Ended(number)

    try:
        for number in ours:
            signal.signal(number, end)
        yield
    except Exception as error:
        if received:  # C code that calls Python, such as the parser, turns `Ended` into an error of its own
            raise Ended(received[0]) from error
        raise
    finally:
        for number in ours:
            signal.signal(number, before[number])


def wants_json(given: Sequence[str]) -> bool:
    """Return True if JSON output was requested, so that errors are printed as JSON too."""
    return not {"--json", "--json-output"}.isdisjoint(takewhile(lambda word: word != "--", given))


def run(arguments: list[str]) -> int:
    """Parse and run the command, and return its exit status. Exceptions propagate."""
    try:
        with program.make_context("git ctx", arguments) as context:
            try:
                status = program.invoke(context)
            finally:
                local_log.current.command = context.invoked_subcommand or ""
    except click.exceptions.Exit as end:
        return end.exit_code
    return status if isinstance(status, int) else 0


def explain(error: Exception) -> tuple[int, str]:
    """Return the exit status of an error and its message, without the prefix "error:" or "fatal:"."""
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
        return FATAL, place + error.strerror + streams.advice(error)
    kind = type(error).__name__
    return (
        FATAL,
        f"unexpected {kind}: {error}\nThis is a bug in git-ctx. GIT_CTX_TRACE=1 shows where it happened.",
    )


def usage_of(error: click.UsageError) -> str:
    """Return the usage lines that follow a usage error."""
    if error.ctx is None:
        return "\nSee 'git ctx -h'."
    return f"\n{error.ctx.get_usage()}\nSee '{error.ctx.command_path} -h'."


def report(message: str, status: int, *, as_json: bool) -> None:
    """Print an error on stderr as git does, and as JSON on stdout if JSON was requested."""
    word = "error" if status == USAGE else "fatal"
    if as_json:
        from ctx.cli.commands.printing import print_json

        first = message.partition("\n")[0]
        streams.forgiving(lambda: print_json({"type": "error", "message": first, "exitCode": status}))
    streams.forgiving(lambda: print(f"{word}: {escape_control_lines(message)}", file=sys.stderr))
