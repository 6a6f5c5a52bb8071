"""Set-up and removal as the commands do them."""

from __future__ import annotations

from pathlib import Path

from ctx.agents.setup import catalog
from ctx.agents.setup.options import SetupOptions
from ctx.agents.setup.planning import carry_out, plan_removal, plan_setup
from ctx.agents.setup.record import Record

ALL = [word for name in list(catalog.AGENTS) for word in ("--agent", name)]
PROGRAM = "/opt/git ctx/bin/git-ctx"


def set_up(root: Path, record: Record, agents, components, strong=False, minimal=False, program=PROGRAM):
    options = SetupOptions(
        "project", str(root), sorted(agents), frozenset(components), program, strong, minimal
    )
    with record.locked():
        plan = plan_setup(options, record)
        carry_out(plan, record)
        again = plan_setup(options, record)
        assert not again.changes
        assert {step.action for step in again.steps} <= {"keep", "leave"}
    return plan


def take_out(root: Path, record: Record, agents):
    with record.locked():
        plan = plan_removal("project", str(root), sorted(agents), record)
        carry_out(plan, record, removing=True)
    return plan
