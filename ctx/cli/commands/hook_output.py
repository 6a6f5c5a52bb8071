"""Output of installed and removed hooks."""

from __future__ import annotations

import os

from ctx.cli.commands.printing import Result, fields_of, path_fields
from ctx.maintenance.hooks.install import (
    CONFIG,
    FILES,
    INSERT,
    INSTALL,
    KEEP,
    LEAVE,
    UPGRADE,
    HookStep,
    InstallPlan,
    RemovalPlan,
)

WORDS = {
    INSTALL: "installed",
    INSERT: "added to the existing hook",
    UPGRADE: "updated",
    KEEP: "already installed",
    LEAVE: "left alone",
}
DRY_RUN = "nothing was changed; this is what would be done:"


def installation(plan: InstallPlan, *, dry_run: bool) -> Result:
    """Return the action on each hook as a result."""
    fields = {"method": plan.method, **path_fields("program", plan.program)}
    hooks = [step_object(step) for step in plan.steps]
    where = (
        "the configuration of this repository (hook.ctx.*)"
        if plan.method == CONFIG
        else os.path.dirname(plan.steps[0].path)
    )
    lines = [*[DRY_RUN] * dry_run, f"hooks in {where}:", *step_lines(plan.steps)]
    return Result({"type": "init_result", "dryRun": dry_run, **fields, "hooks": hooks}, lines)


def removal(plan: RemovalPlan, *, dry_run: bool) -> Result:
    """Return the removed hooks as a result."""
    fields = {"methods": plan.methods, "hooks": [step_object(step) for step in plan.steps]}
    lines = [DRY_RUN] * dry_run
    if CONFIG in plan.methods:
        lines.append("removed: the hooks in the configuration of this repository")
    if FILES in plan.methods:
        lines.append("removed: " + ", ".join(step.path for step in plan.steps if step.action != LEAVE))
    lines += step_lines([step for step in plan.steps if step.action == LEAVE])
    if not plan.methods and not plan.steps:
        lines.append("no hooks of git-ctx are installed here")
    return Result({"type": "deinit_result", "dryRun": dry_run, **fields}, lines)


def step_lines(steps: list[HookStep]) -> list[str]:
    """Return a line for each hook, then each distinct advice for the user once."""
    advice = dict.fromkeys(step.advice for step in steps if step.advice)
    return [
        *(
            f"  {step.event:<14} {WORDS[step.action]}" + (f": {step.reason}" if step.reason else "")
            for step in steps
        ),
        *(line for text in advice for line in text.split("\n")),
    ]


def step_object(step: HookStep) -> dict[str, object]:
    """Return the action on one hook as an object."""
    fields = fields_of(step, path="", content="")
    return path_fields("path", step.path) | {name: value or None for name, value in fields.items()}
