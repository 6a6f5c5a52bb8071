"""Options, question and output of `git ctx setup-agent` and `remove-agent`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import click

from ctx.agents.setup.catalog import AGENTS, PROJECT, USER
from ctx.cli.commands import options
from ctx.cli.commands.printing import fields_of, path_fields, print_json, print_lines
from ctx.errors import CtxError

if TYPE_CHECKING:
    from ctx.agents.setup.planning import Plan, Step
    from ctx.agents.setup.record import Record

LEFT_ALONE = 1
"""Exit status if a file had to be left alone, or if the user answers no."""

WORDS = {
    "put": "added",
    "update": "updated",
    "keep": "already there",
    "leave": "left alone",
    "take": "removed",
}


class Run(NamedTuple):
    """Options that both commands have; `root` is the top of the work tree, or the user's home."""

    scope: str
    root: str
    dry_run: bool
    yes: bool
    as_json: bool


def agents_option(text: str) -> options.Decorator:
    """Add `--agent`."""
    return click.option("--agent", "agents", multiple=True, type=click.Choice(list(AGENTS)), help=text)


def _note_project(context: click.Context, _parameter: click.Parameter, given: bool) -> None:
    context.meta[PROJECT] = given


def _scope(context: click.Context, _parameter: click.Parameter, of_user: bool) -> str:
    options.at_most_one({"--project": context.meta[PROJECT], "--user": of_user})
    return USER if of_user else PROJECT


run_options = options.together(
    click.option(
        "--project",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_note_project,
        help="Change this project: default.",
    ),
    click.option(
        "--user", "scope", is_flag=True, callback=_scope, help="Change the user's own configuration."
    ),
    click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing."),
    click.option("-y", "--yes", is_flag=True, help="Do not ask."),
    options.as_json,
    options.root,
)
"""The options of a `Run`."""


def show_and_write(
    run: Run, record: Record, make_plan: Callable[[], Plan], write: Callable[[Plan], None]
) -> Plan | None:
    """Show a plan, ask, and carry it out; return None if the user answers no.

    Raises CtxError without --yes if there is no terminal, or if a file was changed meanwhile.
    """
    plan = make_plan()
    if not run.as_json and plan.steps:
        print_plan(plan, run)
    if run.dry_run or not plan.changes:
        return plan
    if not run.yes:
        if run.as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise CtxError("nothing was changed: give --yes to change these files without being asked")
        if not click.confirm("Write this?", err=True):
            click.echo("nothing was changed", err=True)
            return None
    with record.locked():
        if make_plan() != plan:
            raise CtxError("a file was changed meanwhile, and nothing was written: run the command again")
        write(plan)
    return plan


def print_plan(plan: Plan, run: Run) -> None:
    """Print each file with the actions on it, and the reasons for pieces left alone."""
    lines = ["this would be done, nothing is changed:" if run.dry_run else "in these files:"]
    by_path: dict[str, list[Step]] = {}
    for step in plan.steps:
        by_path.setdefault(step.path, []).append(step)
    for path, steps in by_path.items():
        lines.append(_short(path, run) + (" (new)" if steps[0].made else ""))
        for action in dict.fromkeys(step.action for step in steps):
            same = [step for step in steps if step.action == action]
            components = ", ".join(dict.fromkeys(step.component for step in same))
            agents = ", ".join(dict.fromkeys(agent for step in same for agent in step.agents))
            reason = next((f": {step.reason}" for step in same if step.reason), "")
            lines.append(f"  {WORDS[action]}: {components} ({agents}){reason}")
    print_lines(lines)


def print_plan_object(kind: str, plan: Plan, run: Run, **more: str) -> None:
    """Print the plan as JSON, with `more` fields."""
    steps = [
        {
            **path_fields("path", step.path),
            **fields_of(step, path="", made="newFile"),
            "reason": step.reason or None,
        }
        for step in plan.steps
    ]
    fields = {"dryRun": run.dry_run, "scope": run.scope, **path_fields("root", run.root)}
    print_json({"type": kind, **fields, "steps": steps, **more})


def _short(path: str, run: Run) -> str:
    """Return a path relative to the top of the project, or to the home directory as `~/...`."""
    root = os.path.realpath(run.root)
    if not path.startswith(root.rstrip(os.sep) + os.sep):
        return path
    inside = os.path.relpath(path, root)
    return inside if run.scope == PROJECT else f"~/{inside}"


def root_of(scope: str) -> str:
    """Return the top of the work tree, or the user's home. Raises CtxError in a bare repository."""
    if scope == USER:
        return os.path.expanduser("~")
    from ctx.git.repository import open_repository

    with open_repository(".") as repository:
        if repository.work_tree is None:
            raise CtxError("a bare repository has no files for agents: use --user, or a work tree")
        return os.path.abspath(repository.work_tree)


def record_of(run: Run) -> Record:
    """Return the record of the set-up, stored in the index directory or in the user's state directory."""
    from hashlib import blake2b

    from ctx.agents.setup.record import Record
    from ctx.models.ledger import state_directory

    if run.scope == USER:
        return Record(os.path.join(state_directory(), "agents"))
    from ctx.git.repository import open_repository
    from ctx.storage.store import DIRECTORY

    with open_repository(run.root) as repository:
        name = blake2b(os.fsencode(os.path.realpath(run.root)), digest_size=8).hexdigest()
        return Record(os.path.join(repository.common_dir, DIRECTORY, "agents", name), run.root)
