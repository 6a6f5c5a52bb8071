"""`git ctx history`: search the commits."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from ctx.cli.commands import options
from ctx.cli.commands.progress import Counter
from ctx.errors import NO_HITS
from ctx.text.pluralize import pluralize

LIMIT = 10


@contextmanager
def interrupted() -> Iterator[Callable[[], bool]]:
    """Let the first interrupt (Ctrl-C) end the indexing only; yield a function that tells if it came."""
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, signal.SIG_IGN if before is signal.SIG_IGN else note)
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)


@click.command(cls=options.WithPathspecs, options_metavar="[OPTIONS]")
@click.argument("query", nargs=-1, metavar="QUERY... [-- PATHSPEC...]")
@options.limit(f"At most N commits; {LIMIT} by default, 1 with --first and --last.")
@click.option("--first", is_flag=True, help="The earliest commit that added it.")
@click.option("--last", is_flag=True, help="The last commit that removed it.")
@click.option("--timeline", is_flag=True, help="Show the months in which it was worked on.")
@click.option("--since", metavar="DATE", help="Only commits after DATE, as git reads it.")
@click.option("--until", metavar="DATE", help="Only commits before DATE, as git reads it.")
@click.option(
    "--author", "authors", multiple=True, metavar="REGEX", help="Only commits of this author, as in git log."
)
@options.path_filter("Only commits that touch, and changes of, files that a git pathspec matches")
@options.one_tree("Search the history of", "commit")
@options.as_json
@options.text_of_hits("Leave out the changed lines.")
def command(
    query: tuple[str, ...],
    limit: int | None,
    first: bool,
    last: bool,
    timeline: bool,
    revision: str | None,
    branch: str | None,
    as_json: bool,
    no_content: bool,
    full_name: bool,
    **filters: Any,
) -> int:
    """Find the commits that answer a query.

    QUERY is compared with the messages of the commits and with what they changed. The first search indexes
    the history of HEAD, or of the named revision; later ones add the new commits. An interrupt (Ctrl-C) while
    it is indexed answers from the newest commits. The exit status is 0 with commits and 1 without.
    """
    options.at_most_one({"A revision": revision, "--branch": branch})
    options.at_most_one({"--first": first, "--last": last})
    text = options.query(query)
    import ctx
    from ctx.cli.commands.history_output import print_answer, print_json_answer
    from ctx.history.answer import FIRST, LAST, CommitFilters, text_of
    from ctx.history.results import ChangedLines

    asks = FIRST if first else LAST if last else None
    with Counter() as counter, ctx.open(".") as index, interrupted() as is_interrupted:

        def on_commits(done: int, total: int) -> bool:
            counter.show(f"indexing {done:,} of {pluralize(total, 'commit')}{counter.left(done, total)}")
            return not is_interrupted()

        index.session.on_commits = on_commits
        answer = index.history(
            text,
            CommitFilters(**filters),
            limit=limit or (1 if asks else LIMIT),
            asks=asks,
            timeline=timeline,
            revision=revision,
            branch=branch,
        )
        counter.close()

        def content(commit: str, place: ChangedLines) -> str | None:
            return text_of(index.repository, commit, place)

        if as_json:
            print_json_answer(answer, None if no_content else content, timeline)
        else:
            prefix = b"" if full_name else index.repository.prefix
            print_answer(answer, text, None if no_content else content, prefix)
    return 0 if answer.hits else NO_HITS
