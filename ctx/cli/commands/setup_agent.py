"""`git ctx setup-agent`: add git-ctx to the configuration of coding agents."""

from __future__ import annotations

import os
from shutil import which
from typing import Any

import click

from ctx.agents.setup.catalog import AGENTS, PROJECT, USER
from ctx.agents.setup.pieces import SERVER
from ctx.cli.commands import agent_plan, options
from ctx.cli.commands.printing import note
from ctx.errors import CtxError, ExtraMissing


@click.command
@agent_plan.agents_option("Set this agent up; may be repeated.")
@click.option("--auto", is_flag=True, help="Set up the agents that are found here: the default.")
@click.option("--instructions", is_flag=True, help="Write instructions on when to search, and how.")
@click.option("--skills", is_flag=True, help="Write skills: searching, reviewing, researching, installing.")
@click.option("--subagents", is_flag=True, help="Write the read-only subagent context-explorer.")
@click.option("--mcp", is_flag=True, help="Add the server of `git ctx mcp`.")
@click.option("--mcp-minimal", is_flag=True, help="Add the server with code_search alone.")
@click.option("--hooks", is_flag=True, help="Add all hooks, also those that add hints to a session.")
@click.option("--no-session-hooks", is_flag=True, help="No hooks that index when a session begins or ends.")
@click.option("--rules", is_flag=True, help="Allow the commands that only read, if an agent has such rules.")
@click.option(
    "--strong", "--aggressive", "strong", is_flag=True, help="Everything, and insist on searching first."
)
@click.option("--print-instructions", is_flag=True, help="Print the instructions, and change nothing.")
@agent_plan.run_options
def command(
    agents: tuple[str, ...],
    auto: bool,
    instructions: bool,
    skills: bool,
    subagents: bool,
    mcp: bool,
    mcp_minimal: bool,
    hooks: bool,
    no_session_hooks: bool,
    rules: bool,
    strong: bool,
    print_instructions: bool,
    scope: str,
    **how: Any,
) -> int:
    """Configure coding agents to search with git-ctx.

    Instructions, skills, a subagent, the server, hooks and rules are written into the configuration of the
    agents; by default all of them except the hooks that add hints to a session. Files are edited, never
    replaced, and `git ctx remove-agent` restores them. It asks before it writes.
    """
    options.at_most_one({"--agent": agents, "--auto": auto})
    options.at_most_one({"--mcp": mcp, "--mcp-minimal": mcp_minimal})
    from ctx.agents.setup import catalog, texts
    from ctx.agents.setup import options as setup
    from ctx.agents.setup.planning import carry_out, plan_setup

    named = {
        setup.INSTRUCTIONS: instructions,
        setup.SKILLS: skills,
        setup.SUBAGENTS: subagents,
        setup.MCP: mcp or mcp_minimal,
        setup.HOOKS: hooks,
        setup.SESSION_HOOKS: hooks,
        setup.RULES: rules,
    }
    components = {name for name, given in named.items() if given} or set(setup.DEFAULT)
    if strong:
        components = set(setup.COMPONENTS)
    if no_session_hooks:
        components.discard(setup.SESSION_HOOKS)
    if setup.MCP in components and not server_is_there():
        missing = ExtraMissing("the server for agents", "mcp")
        if mcp or mcp_minimal:
            raise missing
        components.discard(setup.MCP)
        note(f"no server is added: {missing}", "warning")
    text = None
    if print_instructions:
        text = texts.instructions(
            texts.Wording(setup.MCP in components, mcp_minimal, setup.SUBAGENTS in components, strong)
        )
        if not (how["dry_run"] or how["as_json"]):
            click.echo(text)
            return 0
    root = agent_plan.root_of(scope)
    chosen = list(agents) or catalog.detected(root)
    if not chosen:
        raise CtxError(f"no agent was found here; name one with --agent ({', '.join(AGENTS)})")
    request = setup.SetupOptions(
        scope, root, chosen, frozenset(components), program(scope), strong, mcp_minimal
    )
    for agent, component in setup.unsupported(request):
        if named[component]:
            note(f"{agent} has no place for {component} with --{scope}")
    if which("git-ctx") is None:
        note(f"git-ctx is not on the PATH, so agents cannot start it: add {directory()}")
    run = agent_plan.Run(scope, root, **how)._replace(dry_run=how["dry_run"] or print_instructions)
    record = agent_plan.record_of(run)
    plan = agent_plan.show_and_write(
        run, record, lambda: plan_setup(request, record), lambda plan: carry_out(plan, record)
    )
    if plan is None:
        return agent_plan.LEFT_ALONE
    if run.as_json:
        more = {"instructions": text} if text else {}
        agent_plan.print_plan_object("setup_agent_result", plan, run, **more)
        return 0 if plan.is_whole else agent_plan.LEFT_ALONE
    if not plan.changes:
        click.echo("nothing has to be changed" if plan.is_whole else "nothing was changed")
    elif not run.dry_run:
        click.echo(f"done; `git ctx remove-agent{' --user' * (scope == USER)}` undoes it")
    if text is not None:
        click.echo(f"\n{text}")
    return 0 if plan.is_whole else agent_plan.LEFT_ALONE


def server_is_there() -> bool:
    """Return True if the packages that `git ctx mcp` needs are installed."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None and find_spec("bpe_openai") is not None


def directory() -> str:
    """Return the directory of the program, in words if it is not found."""
    from ctx.maintenance.hooks.registration import program as find

    try:
        return os.path.dirname(find())
    except CtxError:
        return "its directory"


def program(scope: str) -> str:
    """Return the program for hooks and servers: its name in shared files of a project, else its path."""
    if scope == PROJECT:
        return SERVER
    from ctx.maintenance.hooks.registration import program as find

    return find()
