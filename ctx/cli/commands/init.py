"""`git ctx init`: install the hooks that keep the index up to date, and make the first snapshot."""

from __future__ import annotations

import sys

import click

from ctx.cli.commands import hook_output, options
from ctx.cli.commands.index import tell
from ctx.cli.commands.printing import print_lines, print_result
from ctx.cli.commands.progress import reporter_for
from ctx.errors import NothingCommitted


@click.command
@click.option("--no-index", is_flag=True, help="Install the hooks only.")
@click.option("--dry-run", is_flag=True, help="Show what would be installed, and change nothing.")
@click.option(
    "--force",
    is_flag=True,
    help="Also change hooks that belong to a hook manager, to the project or to several repositories.",
)
@click.option("--fetch", is_flag=True, help="First fetch the published index, as `git ctx fetch` does.")
@options.as_json
@options.root
def command(no_index: bool, dry_run: bool, force: bool, fetch: bool, as_json: bool) -> int:
    """Install hooks that index each new HEAD, and index HEAD.

    Hooks index in the background. Existing hooks keep running. `git ctx deinit` removes everything again.
    """
    import ctx
    from ctx.maintenance.hooks.install import install, plan_installation

    reporter = reporter_for(as_json=as_json)
    with reporter, ctx.open(".", on_progress=reporter.progress) as index:
        plan = plan_installation(index.repository, force=force)
        if not dry_run:
            install(index.repository, plan)
        print_result(hook_output.installation(plan, dry_run=dry_run), as_json)
        if dry_run or no_index:
            return 0
        try:
            if fetch:
                from ctx.cli.commands.fetch import summary, warn
                from ctx.share.fetch import fetch as take

                fetched = take(index.session, None, may_ask=sys.stdin.isatty())
                warn(fetched)
                if not as_json:
                    print_lines(summary(fetched))
            report = index.index(trigger="init")
        except NothingCommitted:
            if not as_json:
                click.echo("nothing is committed yet; the first commit will be indexed")
            return 0
        except KeyboardInterrupt:
            reporter.close()
            click.echo("interrupted; the hooks are installed, and the next run continues", err=True)
            raise
    tell(report, reporter, silent=False)
    return 0
