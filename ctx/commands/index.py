"""`git ctx index`: bring the index to one tree."""

from __future__ import annotations

import click

from ctx.commands import options
from ctx.commands.json_output import print_json
from ctx.commands.paths import UNPRINTABLE, escaped
from ctx.commands.printable import printable
from ctx.commands.progress import JsonLines, Reporter, reporter_for
from ctx.errors import INTERRUPTED
from ctx.values import ALREADY_INDEXED, IndexReport


@click.command(short_help="Index a revision, HEAD if none is given.")
@click.argument("revision", required=False)
@click.option("--branch", metavar="NAME", help="Index the tip of a branch.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Work in N processes; all cores by default."
)
@click.option(
    "--ci", is_flag=True, help="For build machines: all cores, plain lines on stderr, no questions."
)
@click.option(
    "--fetch",
    is_flag=True,
    help="In a partial clone, first get from its remote the files that the revision lacks.",
)
@click.option("--silent", is_flag=True, help="Print nothing but errors.")
@options.json_output
@options.root
def command(
    revision: str | None,
    branch: str | None,
    jobs: int | None,
    ci: bool,
    fetch: bool,
    silent: bool,
    json_output: bool,
) -> int:
    """Index REVISION (HEAD if none is given), so that searches of it answer at once.

    Only what is not yet stored is read and embedded. A run that was stopped goes on where it was. No file is
    fetched without --fetch.
    """
    options.revision_and_branch(revision, branch)
    import ctx

    reporter = reporter_for(json_output=json_output, silent=silent, plain=ci)
    with reporter, ctx.open(".") as index:
        try:
            if fetch:
                fetched = index.fetch(
                    revision, branch=branch, told=None if silent or json_output else announce
                )
                if json_output:
                    print_json({"type": "fetched", "objects": fetched})
            report = index.index(
                revision,
                branch=branch,
                jobs=jobs,
                trigger="ci" if ci else "manual",
                progress=reporter.progress,
            )
        except KeyboardInterrupt:
            reporter.close()
            if not silent:
                click.echo("interrupted; what is done is kept, `git ctx index` goes on from there", err=True)
            return INTERRUPTED
        warnings = dict.fromkeys(index.indexer.trees.warnings)
    if not silent:
        for warning in warnings:
            click.echo(f"warning: {UNPRINTABLE.sub(escaped, warning)}", err=True)
    tell(report, reporter, silent=silent)
    return 0


def announce(objects: int) -> None:
    """Say that the remote is asked, which may take its time."""
    click.echo(f"fetching {objects:,} object{'' if objects == 1 else 's'} that this clone lacks", err=True)


def tell(report: IndexReport, reporter: Reporter, *, silent: bool) -> None:
    """Say what the run did, to a program or to eyes."""
    if isinstance(reporter, JsonLines):
        reporter.finished(report)
    elif not silent:
        click.echo(printable(summary(report)))


def summary(report: IndexReport) -> str:
    """What a run did as one line."""
    where = f"{report.revision} (tree {report.tree.hex()[:12]})"
    if report.skipped == ALREADY_INDEXED:
        return f"{where} is indexed already"
    if report.skipped:
        return f"another process is indexing this repository; it will index {where} too before it ends"
    parts = [
        f"{report.processed_new_clusters:,} of {report.total_clusters:,} clusters new",
        f"{report.embedded_chunks:,} chunks embedded, {report.reused_chunks:,} reused",
    ]
    left_out = sum(report.skipped_files.values())
    if left_out:
        parts.append(f"{left_out:,} files left out (`git ctx status` says why)")
    return f"indexed {where}: {'; '.join(parts)}; {report.seconds:.1f} s"
