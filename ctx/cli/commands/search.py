"""`git ctx search`: search one tree for a query."""

from __future__ import annotations

from typing import Any

import click

from ctx.cli.commands import answer_output, options
from ctx.cli.commands.progress import open_index, reporter_for
from ctx.errors import NO_HITS
from ctx.types import ALL, CONTENTS, STATES, ModelOptions

LIMIT_FOR_EYES, LIMIT_FOR_PROGRAMS = 10, 50


@click.command(cls=options.WithPathspecs, options_metavar="[OPTIONS]")
@click.argument("query", nargs=-1, metavar="QUERY... [-- PATHSPEC...]")
@click.option(
    "--content",
    type=click.Choice(CONTENTS),
    default=ALL,
    metavar="|".join(CONTENTS),
    help="Only files of this kind; all by default, with code first.",
)
@options.selection("Search", f"At most N hits; {LIMIT_FOR_EYES} by default, {LIMIT_FOR_PROGRAMS} in JSON.")
@click.option("--added", is_flag=True, help="Only what is new; without --in, since HEAD.")
@click.option("--modified", is_flag=True, help="Only what was changed; without --in, since HEAD.")
@click.option("--removed", is_flag=True, help="Only what is gone; without --in, since HEAD.")
@options.recurse_submodules
@click.option(
    "-w", "--word", is_flag=True, help="Only places that contain the identifier QUERY, definitions first."
)
@click.option("--evolution", is_flag=True, help="Show the commits that changed the best hits.")
@click.option("--expand", is_flag=True, help="Let a chat model propose further queries (ctx.expander.url).")
@click.option("--no-rerank", is_flag=True, help="Do not use the configured reranker.")
@click.option(
    "--min-score",
    type=float,
    metavar="S",
    help="Only hits that a reranker, or full vectors, score S or more.",
)
@click.option("--explain", "explained", is_flag=True, help="Answer by file, with the evidence for each.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs (docs/json.md).")
@click.option("--json-output", is_flag=True, help="Print JSON in the published search schema.")
@click.option("-z", "nul", is_flag=True, help="Print NUL-terminated fields, five a hit; see the manual.")
@options.color
@options.text_of_hits()
def command(
    query: tuple[str, ...],
    content: str,
    added: bool,
    modified: bool,
    removed: bool,
    recurse_submodules: bool,
    word: bool,
    evolution: bool,
    expand: bool,
    no_rerank: bool,
    min_score: float | None,
    explained: bool,
    as_json: bool,
    json_output: bool,
    nul: bool,
    color: str,
    no_content: bool,
    full_name: bool,
    **selection: Any,
) -> int:
    """Find the code and text that answer a query.

    QUERY is in words or in code; `-` reads it from stdin. Without a revision the files of the work tree are
    searched, untracked ones too. With --in only what differs between two trees is searched, and the lines
    that differ are marked. The answer is for one tree, which it names. A tree without an index is indexed
    first. The exit status is 0 with hits and 1 without.
    """
    form = options.at_most_one({"--json": as_json, "--json-output": json_output, "-z": nul})
    states = [word for word, given in zip(STATES, (added, modified, removed), strict=True) if given]
    chosen = options.selected(selection, lambda _: bool(states)) | {"content": content}
    text = options.query(query)
    is_cut = chosen["limit"] is None and form is None
    chosen["limit"] = chosen["limit"] or (LIMIT_FOR_PROGRAMS if form and not explained else LIMIT_FOR_EYES)
    unlike = {
        "--json-output": json_output,
        "-z": nul,
        "--in, --added, --modified and --removed": chosen["within"] is not None,
        "--recurse-submodules": recurse_submodules,
        "--word": word,
        "--evolution": evolution,
        "--expand": expand,
        "--no-rerank": no_rerank,
        "--min-score": min_score is not None,
    }
    for name, given in unlike.items():
        if explained and given:
            raise click.UsageError(f"--explain shows how the package ranks one tree; leave out {name}.")
    reporter = reporter_for()
    with open_index(reporter) as index:
        prefix = b"" if full_name else index.repository.prefix
        if explained:
            from ctx.cli.commands import evidence_output

            del chosen["within"]
            files = index.search_files(text, excerpts=not no_content, **chosen)
            reporter.close()
            if as_json:
                evidence_output.print_json_files(files)
            else:
                evidence_output.print_files(files, prefix)
            return 0 if files.hits else NO_HITS
        models = ModelOptions(expand=expand, rerank=not no_rerank, min_score=min_score)
        answer = index.search(
            text,
            recurse_submodules=recurse_submodules,
            states=states,
            evolution=evolution,
            word=word,
            models=models if models != ModelOptions() else None,
            **chosen,
        )
        reporter.close()
        answer_output.print_answer(
            "search", answer, text, prefix, form=form, with_text=not no_content, color=color, is_cut=is_cut
        )
    return 0 if answer.hits else NO_HITS
