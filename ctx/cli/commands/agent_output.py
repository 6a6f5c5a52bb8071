"""Output of agent set-up and removal, as JSON and as text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ctx.cli.commands.printing import fields_of, path_fields, print_json, print_lines

if TYPE_CHECKING:
    from ctx.agents.setup.planning import Plan, Step

WORDS = {
    "put": "added",
    "update": "updated",
    "keep": "already there",
    "leave": "left alone",
    "take": "removed",
}


def print_plan(plan: Plan, scope: str, root: str) -> None:
    """Print each file with the actions on it, and the reasons for pieces left alone."""
    by_path: dict[str, list[Step]] = {}
    for step in plan.steps:
        by_path.setdefault(step.path, []).append(step)
    for path, steps in by_path.items():
        lines = [_short(path, scope, root) + (" (new)" if steps[0].made else "")]
        for action in dict.fromkeys(step.action for step in steps):
            same = [step for step in steps if step.action == action]
            components = ", ".join(dict.fromkeys(step.component for step in same))
            agents = ", ".join(dict.fromkeys(agent for step in same for agent in step.agents))
            reason = next((f": {step.reason}" for step in same if step.reason), "")
            lines.append(f"  {WORDS[action]}: {components} ({agents}){reason}")
        print_lines(lines)


def plan_object(kind: str, plan: Plan, *, scope: str, root: str, dry_run: bool, **more: str) -> None:
    """Print the plan as JSON, with `more` fields."""
    print_json(
        {
            "type": kind,
            "dryRun": dry_run,
            "scope": scope,
            **path_fields("root", root),
            "steps": [
                {
                    **path_fields("path", step.path),
                    **fields_of(step, path="", made="newFile"),
                    "reason": step.reason or None,
                }
                for step in plan.steps
            ],
            **more,
        }
    )


def _short(path: str, scope: str, root: str) -> str:
    """Return a path relative to the top of the project, or to the home directory as `~/...`."""
    root = os.path.realpath(root)
    if not path.startswith(root.rstrip(os.sep) + os.sep):
        return path
    inside = os.path.relpath(path, root)
    return inside if scope == "project" else f"~/{inside}"
