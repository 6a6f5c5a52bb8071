"""`git ctx search`: search one tree for a query."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from ctx.cli.commands import answer_output, options, streams
from ctx.cli.commands.progress import reporter_for
from ctx.errors import NO_HITS
from ctx.text.escaping import escape_control
from ctx.text.pluralize import pluralize
from ctx.types import ALL, CONTENTS, STATES, ModelOptions

if TYPE_CHECKING:
    from ctx.types import Plan

LIMIT_FOR_EYES = 10
LIMIT_FOR_PROGRAMS = 50
NOTICEABLE = 1.0
"""Seconds of work from which indexing is announced."""


@click.command(
    cls=options.WithPathspecs,
    short_help="Search a revision, HEAD if none is given.",
    options_metavar="[OPTIONS]",
)
@click.argument("query", nargs=-1, metavar="QUERY... [-- PATHSPEC...]")
@options.limit(f"At most N hits; {LIMIT_FOR_EYES} by default, {LIMIT_FOR_PROGRAMS} for programs.")
@options.path_filter()
@options.languages
@click.option(
    "--content",
    type=click.Choice(CONTENTS),
    default=ALL,
    metavar="|".join(CONTENTS),
    help="Only files of this kind; all by default, with code first.",
)
@options.one_tree("Search this commit or tree.", "Search the tip of this branch.")
@options.overlay
@options.recurse_submodules
@click.option("--evolution", is_flag=True, help="Say at which commits the best hits changed.")
@options.within
@click.option("--added", is_flag=True, help="Only what is new; without --in, since HEAD.")
@click.option("--modified", is_flag=True, help="Only what was changed; without --in, since HEAD.")
@click.option("--removed", is_flag=True, help="Only what is gone; without --in, since HEAD.")
@click.option("--expand", is_flag=True, help="Have a chat model propose further queries (ctx.expander.url).")
@click.option("--no-rerank", is_flag=True, help="Leave out the reranker that is configured.")
@click.option(
    "--min-score", type=float, metavar="S", help="Only hits that a reranker, or full vectors, give S or more."
)
@click.option("--explain", "explained", is_flag=True, help="Answer by file, with the evidence for each.")
@click.option(
    "--json", "by_file", is_flag=True, help="The same for programs: JSON with the evidence of each file."
)
@click.option("--json-output", is_flag=True, help="Print JSON for programs.")
@click.option("-z", "nul", is_flag=True, help="For programs: NUL-ended fields, five a hit, see the manual.")
@options.text_of_hits()
@options.color
@options.root
@click.pass_context
def command(
    context: click.Context,
    query: tuple[str, ...],
    limit: int | None,
    path_filters: tuple[str, ...],
    languages: tuple[str, ...],
    content: str,
    revision: str | None,
    branch: str | None,
    recurse_submodules: bool,
    evolution: bool,
    within: str | None,
    added: bool,
    modified: bool,
    removed: bool,
    expand: bool,
    no_rerank: bool,
    min_score: float | None,
    explained: bool,
    by_file: bool,
    json_output: bool,
    nul: bool,
    no_content: bool,
    full_name: bool,
    color: str,
) -> int:
    """Find the places of a revision that answer QUERY, in words or in code; `-` reads it from stdin.

    Without a revision the files are searched as they lie in the work tree, untracked ones too.
    With --in only what differs between two trees is searched, and the lines that differ are marked.
    The answer is for one tree, which it names. A tree without an index is indexed first. The exit status is
    0 with hits and 1 without.
    """
    options.revision_and_branch(revision, branch)
    forms = {"--explain": explained, "--json": by_file, "--json-output": json_output, "-z": nul}
    wanted = [form for form, given in forms.items() if given]
    if len(wanted) > 1:
        raise click.UsageError(f"{' and '.join(wanted)} exclude each other; give one of them.")
    overlay = options.one_overlay(context, revision or branch)
    states = [word for word, given in zip(STATES, (added, modified, removed), strict=True) if given]
    within = options.one_range(within, bool(states), overlay, revision or branch)
    text = query_text(query)
    if explained or by_file:
        other = {
            "--in, --added, --modified and --removed": within is not None,
            "--recurse-submodules": recurse_submodules,
            "--evolution": evolution,
            "--expand": expand,
            "--no-rerank": no_rerank,
            "--min-score": min_score is not None,
        }
        for name, given in other.items():
            if given:
                raise click.UsageError(f"{wanted[0]} tells how the package ranks one tree; leave out {name}.")
        filters = {
            "limit": limit or LIMIT_FOR_EYES,
            "paths": options.pathspecs(context, path_filters),
            "languages": languages,
            "content": content,
            "revision": revision,
            "branch": branch,
            "overlay": overlay,
            "excerpts": not no_content,
        }
        return search_files(text, filters, as_json=by_file, full_name=full_name)
    import ctx

    reporter = reporter_for()
    with reporter, ctx.open(".", on_progress=reporter.progress, on_plan=announce) as index:
        answer = index.search(
            text,
            limit=limit or (LIMIT_FOR_PROGRAMS if json_output or nul else LIMIT_FOR_EYES),
            paths=options.pathspecs(context, path_filters),
            languages=languages,
            content=content,
            revision=revision,
            branch=branch,
            overlay=overlay,
            recurse_submodules=recurse_submodules,
            models=remote_options(expand, no_rerank, min_score),
            within=within,
            states=states,
            evolution=evolution,
        )
        reporter.close()
        text_of = None if no_content else index.session.text
        prefix = b"" if full_name else index.repository.prefix
        if json_output:
            answer_output.print_json_answer(answer, text_of)
        elif nul:
            answer_output.print_records(answer, prefix)
        elif streams.takes_colour(color, sys.stdout):
            from ctx.cli.commands.answer_terminal import print_coloured

            print_coloured(answer, text, text_of, prefix)
        else:
            from ctx.cli.commands.answer_text import print_plain

            print_plain(answer, text, text_of, prefix)
    return 0 if answer.hits else NO_HITS


def search_files(text: str, filters: dict[str, Any], *, as_json: bool, full_name: bool) -> int:
    """Search files, print them with their reasons, and return the exit status."""
    import ctx

    reporter = reporter_for()
    with reporter, ctx.open(".", on_progress=reporter.progress, on_plan=announce) as index:
        answer = index.search_files(text, **filters)
        reporter.close()
        from ctx.cli.commands import evidence_output

        if as_json:
            evidence_output.print_json_files(answer)
        else:
            evidence_output.print_files(answer, b"" if full_name else index.repository.prefix)
    return 0 if answer.hits else NO_HITS


def announce(plan: Plan) -> None:
    """Print on stderr the cost of indexing a revision before the search, if it is noticeable."""
    if plan.seconds >= NOTICEABLE:
        print(
            escape_control(
                f"indexing {plan.revision} first: {pluralize(plan.new_blobs, 'new blob')}, "
                f"about {pluralize(plan.chunks, 'chunk')} "
                f"and {plan.seconds:,.0f} s of work (`git ctx plan` says it beforehand)"
            ),
            file=sys.stderr,
        )


def query_text(words: tuple[str, ...]) -> str:
    """Return the query: the joined arguments, or stdin for `-`. Raises click.UsageError if it is empty."""
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if words == ("-",) else " ".join(words)
    if not text.strip():
        raise click.UsageError("The query is empty; say in words or in code what you look for.")
    return text


def remote_options(expand: bool, no_rerank: bool, min_score: float | None) -> ModelOptions | None:
    """Return the options for remote models, None if all are defaults."""
    if not expand and not no_rerank and min_score is None:
        return None
    return ModelOptions(expand=expand, rerank=not no_rerank, min_score=min_score)
