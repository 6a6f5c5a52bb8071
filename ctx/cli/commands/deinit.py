"""`git ctx deinit`: remove the hooks that `git ctx init` installed."""

from __future__ import annotations

import click

from ctx.cli.commands import hook_output, options
from ctx.cli.commands.printing import Result


@click.command
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@options.result
def command(dry_run: bool) -> Result:
    """Remove the hooks and their settings.

    The hook directory is then as before, byte for byte. The index stays; `git ctx remove-index` removes it.
    """
    from ctx.git.repository import open_repository
    from ctx.maintenance.hooks.install import plan_removal, remove

    with open_repository(".") as repository:
        plan = plan_removal(repository)
        if not dry_run:
            remove(repository, plan)
    return hook_output.removal(plan, dry_run=dry_run)
