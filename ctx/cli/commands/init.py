"""`git ctx init`: install the hooks that keep the index up to date, and make the first snapshot."""

from __future__ import annotations

import sys

import click

from ctx.cli.commands import hook_output, options
from ctx.cli.commands.index import tell
from ctx.cli.commands.progress import reporter_for
from ctx.errors import NothingCommitted


@click.command(short_help="Install the hooks that keep the index up to date, and index HEAD.")
@click.option("--no-index", is_flag=True, help="Install the hooks only.")
@click.option("--dry-run", is_flag=True, help="Say what would be installed, and change nothing.")
@click.option(
    "--force",
    is_flag=True,
    help="Also change hooks that belong to a hook manager, to the project or to several repositories.",
)
@click.option(
    "--fetch", is_flag=True, help="First take what the remote's published index has, see `git ctx fetch`."
)
@options.json_output
@options.root
def command(no_index: bool, dry_run: bool, force: bool, fetch: bool, json_output: bool) -> int:
    """Install hooks that have each new HEAD indexed in the background, and index HEAD now.

    Existing hooks keep running. `git ctx deinit` removes everything again.
    """
    import ctx
    from ctx.maintenance.hooks.install import install, plan_installation

    reporter = reporter_for(json_output=json_output)
    with reporter, ctx.open(".", on_progress=reporter.progress) as index:
        plan = plan_installation(index.repository, force=force)
        if not dry_run:
            install(index.repository, plan)
        hook_output.print_plan(plan, dry_run=dry_run, as_json=json_output)
        if dry_run or no_index:
            return 0
        try:
            if fetch:
                from ctx.cli.commands.fetch import warn
                from ctx.share.fetch import fetch as take

                warn(take(index, None, may_ask=sys.stdin.isatty()))
            report = index.index(trigger="init")
        except NothingCommitted:
            if not json_output:
                click.echo("nothing is committed yet; the first commit will be indexed")
            return 0
        except KeyboardInterrupt:
            reporter.close()
            click.echo("interrupted; the hooks are installed, and the next one goes on from there", err=True)
            raise
    tell(report, reporter, silent=False)
    return 0
