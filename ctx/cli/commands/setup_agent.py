"""`git ctx setup-agent`: add git-ctx to the configuration of coding agents."""

from __future__ import annotations

import os
import sys
from shutil import which
from typing import TYPE_CHECKING

import click

from ctx.agents.setup.catalog import AGENTS, PROJECT, USER
from ctx.agents.setup.pieces import SERVER
from ctx.cli.commands import options
from ctx.errors import CtxError

if TYPE_CHECKING:
    from ctx.agents.setup.options import SetupOptions
    from ctx.agents.setup.record import Record

LEFT_ALONE = 1
"""Exit status if a file had to be left alone, or if the user answers no."""


@click.command
@click.option(
    "--agent",
    "agents",
    multiple=True,
    type=click.Choice(list(AGENTS)),
    help="Set this agent up; may be repeated.",
)
@click.option("--auto", is_flag=True, help="Set up the agents that are found here: the default.")
@click.option("--project", "scope", flag_value="project", default="project", help="Write into this project.")
@click.option("--user", "scope", flag_value="user", help="Write into the user's own configuration.")
@click.option("--instructions", is_flag=True, help="Write instructions on when to search, and how.")
@click.option("--skills", is_flag=True, help="Write skills: searching, reviewing, researching, installing.")
@click.option("--subagents", is_flag=True, help="Write the read-only subagent context-explorer.")
@click.option("--mcp", is_flag=True, help="Add the server of `git ctx mcp`.")
@click.option("--mcp-minimal", is_flag=True, help="Add the server with code_search alone.")
@click.option("--hooks", is_flag=True, help="Add all hooks, also those that speak to the agent.")
@click.option("--no-session-hooks", is_flag=True, help="No hooks that index when a session begins or ends.")
@click.option(
    "--rules", is_flag=True, help="Allow the commands that only read, where an agent has such rules."
)
@click.option(
    "--strong", "--aggressive", "strong", is_flag=True, help="Everything, and insist on searching first."
)
@click.option("--dump-auto", is_flag=True, help="Print what would be written as JSON, and change nothing.")
@click.option("--print-instructions", is_flag=True, help="Print the instructions, and change nothing.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.as_json
@options.root
def command(
    agents: tuple[str, ...],
    auto: bool,
    scope: str,
    instructions: bool,
    skills: bool,
    subagents: bool,
    mcp: bool,
    mcp_minimal: bool,
    hooks: bool,
    no_session_hooks: bool,
    rules: bool,
    strong: bool,
    dump_auto: bool,
    print_instructions: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Configure coding agents to search with git-ctx.

    Instructions, skills, a subagent, the server, hooks and rules are written into the configuration of the
    agents; by default all of them except the hooks that add hints to the session. Files are edited, never
    replaced, and `git ctx remove-agent` restores them. It asks before it writes.
    """
    if agents and auto:
        raise click.UsageError("--agent and --auto exclude each other; give one of them.")
    if mcp and mcp_minimal:
        raise click.UsageError("--mcp and --mcp-minimal exclude each other; give one of them.")
    from ctx.agents.setup import catalog
    from ctx.agents.setup import options as setup

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
    instructions_text = None
    if print_instructions:
        from ctx.agents.setup import texts

        words = texts.Wording(setup.MCP in components, mcp_minimal, setup.SUBAGENTS in components, strong)
        instructions_text = texts.instructions(words)
        if not (dump_auto or dry_run or as_json):
            click.echo(instructions_text)
            return 0
    if setup.MCP in components and not server_is_there():
        if mcp or mcp_minimal:
            raise CtxError("the server for agents needs more packages: `pip install 'git-ctx[mcp]'`")
        components.discard(setup.MCP)
        click.echo("note: without the server, which needs `pip install 'git-ctx[mcp]'`", err=True)
    root = root_of(scope)
    chosen = list(agents) or catalog.detected(root)
    if not chosen:
        raise CtxError(f"no agent was found here; name one with --agent ({', '.join(AGENTS)})")
    chosen_options = setup.SetupOptions(
        scope, root, chosen, frozenset(components), program(scope), strong, mcp_minimal
    )
    for agent, component in setup.unsupported(chosen_options):
        if named[component]:
            click.echo(f"note: {agent} has no place for {component} with --{scope}", err=True)
    if which("git-ctx") is None:
        click.echo("note: git-ctx is not on the PATH, so agents cannot start it: add its directory", err=True)
    return set_up(
        chosen_options,
        dry_run=dry_run or dump_auto or print_instructions,
        yes=yes,
        as_json=as_json or dump_auto,
        instructions=instructions_text,
    )


def set_up(
    options: SetupOptions, *, dry_run: bool, yes: bool, as_json: bool, instructions: str | None
) -> int:
    """Plan, show, ask and write; return the exit status. `instructions` are printed with the plan."""
    from ctx.agents.setup.planning import carry_out, plan_setup
    from ctx.cli.commands.agent_output import plan_object, print_plan

    record = record_of(options.scope, options.root)
    plan = plan_setup(options, record)
    status = 0 if plan.is_whole else LEFT_ALONE
    if not as_json:
        click.echo("this would be done, nothing is changed:" if dry_run else "in these files:")
        print_plan(plan, options.scope, options.root)
    if not dry_run and plan.changes:
        if not agreed("Write this?", yes=yes, as_json=as_json):
            return LEFT_ALONE
        with record.locked():
            if plan_setup(options, record) != plan:
                raise CtxError("a file was changed meanwhile, and nothing was written: run the command again")
            carry_out(plan, record)
    if as_json:
        more = {} if instructions is None else {"instructions": instructions}
        plan_object(
            "setup_agent_result", plan, scope=options.scope, root=options.root, dry_run=dry_run, **more
        )
    elif not plan.changes:
        click.echo("nothing has to be changed" if plan.is_whole else "nothing was changed")
    elif not dry_run:
        undo = "git ctx remove-agent" + (" --user" if options.scope == USER else "")
        click.echo(f"done; `{undo}` takes it out again")
    if instructions is not None and not as_json:
        click.echo(f"\n{instructions}")
    return status


def agreed(question: str, *, yes: bool, as_json: bool) -> bool:
    """Return True if the user agrees. Raises CtxError without --yes if there is no terminal."""
    if yes:
        return True
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise CtxError("nothing was changed: give --yes to change these files without being asked")
    if click.confirm(question, err=True):
        return True
    click.echo("nothing was changed", err=True)
    return False


def root_of(scope: str) -> str:
    """Return the top of the work tree, or the user's home. Raises CtxError in a bare repository."""
    if scope == "user":
        return os.path.expanduser("~")
    from ctx.git.repository import open_repository

    with open_repository(".") as repository:
        if repository.work_tree is None:
            raise CtxError("a bare repository has no files for agents: use --user, or a work tree")
        return os.path.abspath(repository.work_tree)


def record_of(scope: str, root: str) -> Record:
    """Return the record of the set-up, stored in the index directory or in the user's state directory."""
    from hashlib import blake2b

    from ctx.agents.setup.record import Record
    from ctx.models.ledger import state_directory

    if scope == "user":
        return Record(os.path.join(state_directory(), "agents"))
    from ctx.git.repository import open_repository
    from ctx.storage.store import DIRECTORY

    with open_repository(root) as repository:
        name = blake2b(os.fsencode(os.path.realpath(root)), digest_size=8).hexdigest()
        return Record(os.path.join(repository.common_dir, DIRECTORY, "agents", name), root)


def server_is_there() -> bool:
    """Return True if the packages that `git ctx mcp` needs are installed."""
    from importlib.util import find_spec

    return find_spec("mcp") is not None and find_spec("bpe_openai") is not None


def program(scope: str) -> str:
    """Return the program for hooks and servers: its name in shared files of a project, else its path."""
    if scope == PROJECT:
        return SERVER
    from ctx.maintenance.hooks.registration import program as find

    return find()
