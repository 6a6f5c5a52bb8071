"""`git ctx index`: index one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from ctx.cli.commands import options
from ctx.cli.commands.answer_output import submodule_object
from ctx.cli.commands.printing import plain, print_json
from ctx.cli.commands.progress import JsonLines, Reporter, reporter_for
from ctx.indexing.reports import ALREADY_INDEXED, IndexReport
from ctx.search.coverage import submodules_in_words
from ctx.text.escaping import escape_control
from ctx.text.paths import c_escape, quoted
from ctx.text.pluralize import pluralize

if TYPE_CHECKING:
    from ctx.search.session import SearchSession


@click.command
@options.revision_argument
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
    options.at_most_one({"A revision": revision, "--branch": branch})
    import ctx

    reporter = reporter_for(as_json=as_json, silent=silent, plain=ci)
    run = Run(jobs, "ci" if ci else "manual", fetch, silent, reporter)
    with reporter, ctx.open(".") as index:
        try:
            tell(index_one(index.session, revision, branch, run), reporter, silent=silent)
            if recurse_submodules:
                index_submodules(index.session, revision, branch, run)
        except KeyboardInterrupt:
            reporter.close()
            if not silent:
                click.echo("interrupted; the next `git ctx index` continues from here", err=True)
            raise
    return 0


COUNTS = ("skipped", "totalClusters", "processedNewClusters", "embeddedChunks")
"""Fields of a report that the JSON object of a submodule has."""


class Run(NamedTuple):
    """Options for indexing, the same for a repository and its submodules."""

    jobs: int | None
    trigger: str
    fetch: bool
    silent: bool
    reporter: Reporter


def index_one(session: SearchSession, revision: str | None, branch: str | None, run: Run) -> IndexReport:
    """Index a revision of one repository, and print its warnings."""
    as_json = isinstance(run.reporter, JsonLines)
    if run.fetch:
        report_fetch = None if run.silent or as_json else announce
        fetched = session.fetch(revision, branch=branch, on_fetch=report_fetch)
        if as_json:
            print_json({"type": "fetched", "objects": fetched})
    session.on_progress = run.reporter.progress
    report = session.index(revision, branch=branch, jobs=run.jobs, trigger=run.trigger)
    run.reporter.erase()
    if not run.silent:
        for warning in dict.fromkeys(
            filter(None, (*session.indexer.trees.warnings, session.fetch_failed, session.past_unread))
        ):
            click.echo(f"warning: {c_escape(warning)}", err=True)
    return report


def index_submodules(session: SearchSession, revision: str | None, branch: str | None, run: Run) -> None:
    """Index the submodules of a revision, and print a warning about missing ones."""
    from ctx.search.submodules import pinned_below

    missing = []
    quiet = run._replace(reporter=Reporter())
    as_json = isinstance(run.reporter, JsonLines)
    for below in pinned_below(session, session.resolve(revision, branch).tree):
        report = None
        if below.inner is not None and below.asked is not None:
            report = index_one(below.inner, below.asked.revision, None, quiet if as_json else run)
        else:
            missing.append(below.submodule)
        if as_json:
            counts = (
                {name: value for name, value in plain(report).items() if name in COUNTS} if report else {}
            )
            print_json({"type": "submodule", **submodule_object(below.submodule), **counts})
        elif report is not None and not run.silent:
            click.echo(f"{quoted(below.submodule.path)}: {escape_control(summary(report))}")
    if not run.silent and (words := submodules_in_words(missing)):
        click.echo(f"warning: {c_escape(words)}", err=True)


def announce(objects: int) -> None:
    """Announce a fetch from the remote, which may take a while."""
    click.echo(f"fetching {pluralize(objects, 'object')} that this clone does not have", err=True)


def tell(report: IndexReport, reporter: Reporter, *, silent: bool) -> None:
    """Print the result of a run as JSON or as text."""
    if isinstance(reporter, JsonLines):
        reporter.finished(report)
    elif not silent:
        click.echo(escape_control(summary(report)))


def summary(report: IndexReport) -> str:
    """Return the result of a run as one line."""
    where = f"{report.revision} (tree {report.tree[:12]})"
    if report.skipped == ALREADY_INDEXED:
        return f"{where} is indexed already"
    if report.remote is not None and report.remote.elsewhere:
        return (
            f"{where} is indexed by the built-in model; another process is having texts embedded by "
            f"{report.remote.model} and does the rest: to be sure that nothing is missing, run "
            "`git ctx index` again when it has ended"
        )
    if report.skipped:
        return f"another process is indexing this repository; it will index {where} too before it ends"
    parts = [
        f"{report.processed_new_clusters:,} of {pluralize(report.total_clusters, 'cluster')} new",
        f"{pluralize(report.embedded_chunks, 'chunk')} embedded, {report.reused_chunks:,} reused",
    ]
    left_out = sum(report.skipped_files.values())
    if left_out:
        parts.append(f"{pluralize(left_out, 'file')} left out (`git ctx status` shows why)")
    if report.remote is not None and (report.remote.embedded or report.remote.reused):
        remote = report.remote
        cut = f", {remote.truncated:,} truncated" if remote.truncated else ""
        parts.append(f"{remote.embedded:,} embedded by {remote.model}, {remote.reused:,} reused{cut}")
    return f"indexed {where}: {'; '.join(parts)}; {report.seconds:.1f} s"
