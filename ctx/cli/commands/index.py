"""`git ctx index`: index one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from ctx.cli.commands import options
from ctx.cli.commands.answer_output import submodule_object
from ctx.cli.commands.printing import print_json
from ctx.cli.commands.progress import JsonLines, Reporter, reporter_for
from ctx.reports import ALREADY_INDEXED, IndexReport
from ctx.search.coverage import submodules_in_words
from ctx.search.submodules import pinned_below
from ctx.text.escaping import escape_control
from ctx.text.paths import c_escape, quoted
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


@click.command
@click.argument("revision", required=False)
@click.option("--branch", metavar="NAME", help="Index the tip of a branch.")
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Use N processes; all cores by default."
)
@click.option("--ci", is_flag=True, help="For build machines: all cores, plain lines on stderr.")
@click.option("--fetch", is_flag=True, help="In a partial clone, first fetch the missing files.")
@options.recurse_submodules
@options.silent
@options.as_json
@options.root
def command(
    revision: str | None,
    branch: str | None,
    jobs: int | None,
    ci: bool,
    fetch: bool,
    recurse_submodules: bool,
    silent: bool,
    as_json: bool,
) -> int:
    """Index a revision, HEAD by default.

    Only missing data is read and embedded. The next run continues an interrupted one. No file is fetched
    without --fetch.
    """
    options.revision_and_branch(revision, branch)
    import ctx

    reporter = reporter_for(as_json=as_json, silent=silent, plain=ci)
    request = Request(jobs, "ci" if ci else "manual", fetch, silent, reporter)
    with reporter, ctx.open(".") as index:
        try:
            tell(bring_up(index.session, revision, branch, request), reporter, silent=silent)
            if recurse_submodules:
                bring_up_below(index.session, revision, branch, request)
        except KeyboardInterrupt:
            reporter.close()
            if not silent:
                click.echo("interrupted; what is done is kept, `git ctx index` goes on from there", err=True)
            raise
    return 0


class Request(NamedTuple):
    """Options for indexing, the same for a repository and its submodules."""

    jobs: int | None
    trigger: str
    fetch: bool
    silent: bool
    reporter: Reporter


def bring_up(
    session: SearchSession, revision: str | None, branch: str | None, request: Request
) -> IndexReport:
    """Index a revision of one repository, and print its warnings."""
    as_json = isinstance(request.reporter, JsonLines)
    if request.fetch:
        report_fetch = None if request.silent or as_json else announce
        fetched = session.fetch(revision, branch=branch, on_fetch=report_fetch)
        if as_json:
            print_json({"type": "fetched", "objects": fetched})
    session.on_progress = request.reporter.progress
    report = session.index(
        revision,
        branch=branch,
        jobs=request.jobs,
        trigger=request.trigger,
    )
    if not request.silent:
        for warning in dict.fromkeys(
            filter(None, (*session.indexer.trees.warnings, session.fetch_failed, session.past_unread))
        ):
            click.echo(f"warning: {c_escape(warning)}", err=True)
    return report


def bring_up_below(
    session: SearchSession, revision: str | None, branch: str | None, request: Request
) -> None:
    """Index the submodules of a revision, and print a warning about missing ones."""
    lacking = []
    quiet = request._replace(reporter=Reporter())
    as_json = isinstance(request.reporter, JsonLines)
    for below in pinned_below(session, session.resolve(revision, branch).tree):
        report = None
        if below.inner is not None and below.asked is not None:
            report = bring_up(below.inner, below.asked.revision, None, quiet if as_json else request)
        else:
            lacking.append(below.submodule)
        if as_json:
            print_json({"type": "submodule", **submodule_object(below.submodule), **counts(report)})
        elif report is not None and not request.silent:
            click.echo(f"{quoted(below.submodule.path)}: {escape_control(summary(report))}")
    if not request.silent and (words := submodules_in_words(lacking)):
        click.echo(f"warning: {c_escape(words)}", err=True)


def announce(objects: int) -> None:
    """Announce a fetch from the remote, which may take a while."""
    click.echo(f"fetching {pluralize(objects, 'object')} that this clone lacks", err=True)


def tell(report: IndexReport, reporter: Reporter, *, silent: bool) -> None:
    """Print the result of a run as JSON or as text."""
    if isinstance(reporter, JsonLines):
        reporter.finished(report)
    elif not silent:
        click.echo(escape_control(summary(report)))


def counts(report: IndexReport | None) -> dict[str, str | int | None]:
    """Return the result for a submodule as JSON fields."""
    if report is None:
        return {}
    return {
        "skipped": report.skipped,
        "totalClusters": report.total_clusters,
        "processedNewClusters": report.processed_new_clusters,
        "embeddedChunks": report.embedded_chunks,
    }


def summary(report: IndexReport) -> str:
    """Return the result of a run as one line."""
    where = f"{report.revision} (tree {report.tree[:12]})"
    if report.skipped == ALREADY_INDEXED:
        return f"{where} is indexed already"
    if report.remote is not None and report.remote.elsewhere:
        return (
            f"{where} is indexed by the model of the package; another process is having texts embedded by "
            f"{report.remote.model} at this moment, and what this tree lacks is left to it: to be sure that "
            "nothing is missing, run `git ctx index` again when it has ended"
        )
    if report.skipped:
        return f"another process is indexing this repository; it will index {where} too before it ends"
    parts = [
        f"{report.processed_new_clusters:,} of {pluralize(report.total_clusters, 'cluster')} new",
        f"{pluralize(report.embedded_chunks, 'chunk')} embedded, {report.reused_chunks:,} reused",
    ]
    left_out = sum(report.skipped_files.values())
    if left_out:
        parts.append(f"{pluralize(left_out, 'file')} left out (`git ctx status` says why)")
    if report.remote is not None and (report.remote.embedded or report.remote.reused):
        remote = report.remote
        cut = f", {remote.truncated:,} too long and read in part" if remote.truncated else ""
        parts.append(f"{remote.embedded:,} embedded by {remote.model}, {remote.reused:,} reused{cut}")
    return f"indexed {where}: {'; '.join(parts)}; {report.seconds:.1f} s"
