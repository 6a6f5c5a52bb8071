"""Output of installed and removed hooks, as JSON and as text."""

from __future__ import annotations

import os

import click

from ctx.cli.commands.json_output import path_fields, print_json
from ctx.maintenance.hooks.install import (
    CONFIG,
    FILES,
    INSERT,
    INSTALL,
    KEEP,
    LEAVE,
    UPGRADE,
    Plan,
    Removal,
    Step,
)
from ctx.text.escaping import escape_control, escape_control_lines

WORDS = {
    INSTALL: "installed",
    INSERT: "added to the hook that is there",
    UPGRADE: "brought up to date",
    KEEP: "there already",
    LEAVE: "left alone",
}


def print_plan(plan: Plan, *, dry_run: bool, as_json: bool) -> None:
    """Print the action on each hook."""
    if as_json:
        print_json(
            {
                "type": "init_result",
                "dryRun": dry_run,
                "method": plan.method,
                **path_fields("program", os.fsencode(plan.program)),
                "hooks": [step_object(step) for step in plan.steps],
            }
        )
        return
    if dry_run:
        click.echo("nothing was changed; this is what would be done:")
    if plan.method == CONFIG:
        click.echo("hooks in the configuration of this repository (hook.ctx.*):")
    else:
        click.echo(f"hooks in {escape_control(os.path.dirname(plan.steps[0].path))}:")
    print_steps(plan.steps)


def print_removal(removal: Removal, *, dry_run: bool, as_json: bool) -> None:
    """Print the removed hooks."""
    if as_json:
        print_json(
            {
                "type": "deinit_result",
                "dryRun": dry_run,
                "methods": removal.methods,
                "hooks": [step_object(step) for step in removal.steps],
            }
        )
        return
    if dry_run:
        click.echo("nothing was changed; this is what would be done:")
    if CONFIG in removal.methods:
        click.echo("the hooks in the configuration of this repository are taken away")
    if FILES in removal.methods:
        taken = [step for step in removal.steps if step.action != LEAVE]
        click.echo("taken away: " + ", ".join(escape_control(step.path) for step in taken))
    print_steps([step for step in removal.steps if step.action == LEAVE])
    if not removal.methods and not removal.steps:
        click.echo("there are no hooks of git-ctx here")


def print_steps(steps: list[Step]) -> None:
    """Print a line for each hook, then each distinct advice for the user once."""
    for step in steps:
        reason = f": {escape_control(step.reason)}" if step.reason else ""
        click.echo(f"  {step.event:<14} {WORDS[step.action]}{reason}")
    for advice in dict.fromkeys(step.advice for step in steps if step.advice):
        click.echo(escape_control_lines(advice))


def step_object(step: Step) -> dict[str, object]:
    """Return the action on one hook as an object."""
    return {
        "event": step.event,
        **path_fields("path", os.fsencode(step.path)),
        "action": step.action,
        "reason": step.reason or None,
        "advice": step.advice or None,
    }
