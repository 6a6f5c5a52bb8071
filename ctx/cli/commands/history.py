"""`git ctx history`: search the commits."""

from __future__ import annotations

import sys

import click

from ctx.cli.commands import options
from ctx.cli.commands.search import query_text
from ctx.errors import NO_HITS
from ctx.text.pluralize import pluralize

LIMIT = 10


@click.command(
    cls=options.WithPathspecs, short_help="Find the commits that did it.", options_metavar="[OPTIONS]"
)
@click.argument("query", nargs=-1, metavar="QUERY... [-- PATHSPEC...]")
@options.limit(f"At most N commits; {LIMIT} by default, 1 with --first and --last.")
@click.option("--first", is_flag=True, help="When did it come: the earliest commit that added it.")
@click.option("--last", is_flag=True, help="When did it go: the last commit that removed it.")
@click.option("--timeline", is_flag=True, help="Show how much of it went on in each month.")
@click.option("--since", metavar="DATE", help="Only commits after DATE, as git reads it.")
@click.option("--until", metavar="DATE", help="Only commits before DATE, as git reads it.")
@click.option(
    "--author", "authors", multiple=True, metavar="REGEX", help="Only commits of this author, as in git log."
)
@options.path_filter("Only commits that touch, and changes of, such files")
@options.one_tree("The history of this commit.", "The history of this branch.")
@options.as_json
@options.text_of_hits("Leave out the changed lines.")
@options.root
@click.pass_context
def command(
    context: click.Context,
    query: tuple[str, ...],
    limit: int | None,
    first: bool,
    last: bool,
    timeline: bool,
    since: str | None,
    until: str | None,
    authors: tuple[str, ...],
    path_filters: tuple[str, ...],
    revision: str | None,
    branch: str | None,
    as_json: bool,
    no_content: bool,
    full_name: bool,
) -> int:
    """Find the commits that did what QUERY says, by their messages and by what they changed.

    The history of HEAD, or of the revision that is named, is indexed by the first question; later ones add
    the commits that are new. The exit status is 0 with commits and 1 without.
    """
    options.revision_and_branch(revision, branch)
    if first and last:
        raise click.UsageError("--first and --last exclude each other; give one of them.")
    text = query_text(query)
    import ctx
    from ctx.cli.commands.history_output import print_answer, print_json_answer
    from ctx.history.answer import FIRST, LAST, CommitFilters, text_of
    from ctx.history.results import ChangedLines

    asks = FIRST if first else LAST if last else None
    with ctx.open(".") as index:
        index.session.on_commits = Counter() if sys.stderr.isatty() else announce
        answer = index.history(
            text,
            CommitFilters(since, until, authors, options.pathspecs(context, path_filters)),
            limit=limit or (1 if asks else LIMIT),
            asks=asks,
            timeline=timeline,
            revision=revision,
            branch=branch,
        )

        def content(commit: bytes, place: ChangedLines) -> str | None:
            return text_of(index.repository, commit, place)

        if as_json:
            print_json_answer(answer, None if no_content else content, timeline)
        else:
            prefix = b"" if full_name else index.repository.prefix
            print_answer(answer, text, None if no_content else content, prefix)
    return 0 if answer.hits else NO_HITS


_MANY = 1_000
"""Number of commits from which indexing takes seconds and is announced even without a terminal."""


def announce(done: int, total: int) -> None:
    """Print one line on stderr before many commits are indexed."""
    if done == 0 and total >= _MANY:
        sys.stderr.write(f"indexing {pluralize(total, 'commit')}, once\n")


class Counter:
    """One line on stderr that counts commits while they are indexed."""

    def __call__(self, done: int, total: int) -> None:
        end = "\r\x1b[K" if done >= total else ""
        sys.stderr.write(f"\rindexing {done:,} of {pluralize(total, 'commit')}{end}")
        sys.stderr.flush()
