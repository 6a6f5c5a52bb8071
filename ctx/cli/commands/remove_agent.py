"""`git ctx remove-agent`: undo the edits of `git ctx setup-agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ctx.agents.setup.catalog import AGENTS
from ctx.cli.commands import agent_plan

if TYPE_CHECKING:
    from ctx.agents.setup.planning import Plan


@click.command
@agent_plan.agents_option("Remove the configuration of this agent only; may be repeated.")
@agent_plan.run_options
def command(agents: tuple[str, ...], scope: str, **how: Any) -> int:
    """Remove what `git ctx setup-agent` wrote.

    Unchanged files are restored byte for byte. In files that were changed since, only what was written is
    removed. It asks before it writes.
    """
    from ctx.agents.setup import config_files
    from ctx.agents.setup.planning import carry_out, empty_directories, plan_removal

    run = agent_plan.Run(scope, agent_plan.root_of(scope), **how)
    record = agent_plan.record_of(run)

    def write(plan: Plan) -> None:
        recorded = bool(record.files)
        carry_out(plan, record, removing=True)
        if not recorded:
            config_files.remove_empty(empty_directories(plan, run.root))

    def make_plan() -> Plan:
        return plan_removal(scope, run.root, agents or tuple(AGENTS), record)

    plan = agent_plan.show_and_write(run, record, make_plan, write)
    if plan is None:
        return agent_plan.LEFT_ALONE
    if run.as_json:
        agent_plan.print_plan_object("remove_agent_result", plan, run)
    elif not plan.steps and not plan.changes:
        click.echo("nothing of git-ctx is set up here")
    elif not run.dry_run and plan.changes:
        click.echo("done")
    return 0 if plan.is_whole else agent_plan.LEFT_ALONE
