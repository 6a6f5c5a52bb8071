"""`git ctx remove-agent`: undo the edits of `git ctx setup-agent`."""

from __future__ import annotations

import click

from ctx.agents.setup.catalog import AGENTS
from ctx.cli.commands import options
from ctx.cli.commands.setup_agent import LEFT_ALONE, agreed, record_of, root_of
from ctx.errors import CtxError


@click.command
@click.option(
    "--agent",
    "agents",
    multiple=True,
    type=click.Choice(list(AGENTS)),
    help="Only this agent; may be repeated.",
)
@click.option(
    "--project",
    "scope",
    flag_value="project",
    default="project",
    help="Remove from this project: the default.",
)
@click.option("--user", "scope", flag_value="user", help="In the user's own configuration.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.as_json
@options.root
def command(agents: tuple[str, ...], scope: str, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Remove what `git ctx setup-agent` wrote.

    Unchanged files are restored byte for byte. In files that were changed since, only what was written is
    removed. It asks before it writes.
    """
    from ctx.agents.setup import config_files
    from ctx.agents.setup.planning import carry_out
    from ctx.agents.setup.removal import empty_directories, plan_removal
    from ctx.cli.commands.agent_output import plan_object, print_plan

    root = root_of(scope)
    chosen = agents or tuple(AGENTS)
    record = record_of(scope, root)
    plan = plan_removal(scope, root, chosen, record)
    if not as_json and plan.steps:
        click.echo("this would be done, nothing is changed:" if dry_run else "in these files:")
        print_plan(plan, scope, root)
    if not dry_run and plan.changes:
        if not agreed("Write this?", yes=yes, as_json=as_json):
            return LEFT_ALONE
        with record.locked():
            if plan_removal(scope, root, chosen, record) != plan:
                raise CtxError("a file was changed meanwhile, and nothing was written: run the command again")
            recorded = bool(record.files)
            carry_out(plan, record, removing=True)
            if not recorded:
                config_files.remove_empty(empty_directories(plan, root))
    if as_json:
        plan_object("remove_agent_result", plan, scope=scope, root=root, dry_run=dry_run)
    elif not plan.steps and not plan.changes:
        click.echo("nothing of git-ctx is set up here")
    elif not dry_run and plan.changes:
        click.echo("done")
    return 0 if plan.is_whole else LEFT_ALONE
