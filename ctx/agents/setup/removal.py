"""Plans of a removal of set-up. `ctx.agents.setup.planning.carry_out` carries them out.

A file that nothing else has changed gets its original bytes back. Otherwise each piece is removed in place.
Without a record (another clone, a lost git directory) pieces are recognised by their content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from ctx.agents.setup import catalog, config_files, pieces
from ctx.agents.setup.catalog import AGENTS, PROJECT
from ctx.agents.setup.jsonc import Unreadable, is_blank, parse
from ctx.agents.setup.options import COMPONENTS, Placement, SetupOptions, placements
from ctx.agents.setup.pieces import BLOCK, ITEM, LEAVE, MEMBER, Piece
from ctx.agents.setup.planning import Change, Plan, Step
from ctx.agents.setup.record import FileRecord, Record, Written, digest

TAKE = "take"
"""Action of a removal, in addition to those of ctx.agents.setup.pieces."""


def plan_removal(scope: str, root: str, agents: Sequence[str], record: Record) -> Plan:
    """Return the plan of a removal; changes nothing."""
    plan = Plan([], [])
    if not record.files:
        _plan_unrecorded(plan, scope, root, agents)
        return plan
    for path, file in record.files.items():
        _plan_recorded(plan, path, file, agents, record)
    return plan


def _plan_recorded(plan: Plan, path: str, file: FileRecord, agents: Sequence[str], record: Record) -> None:
    asked = [one for one in file.written if not {*one.agents}.isdisjoint(agents)]
    going = [one for one in asked if {*one.agents} <= {*agents}]
    if not asked:
        return
    left = [
        one._replace(agents=[agent for agent in one.agents if agent not in agents])
        for one in file.written
        if one not in going
    ]
    try:
        before = config_files.read(path)
        text = config_files.decoded(before or b"")
        if going and before is not None:
            config_files.check_writable(path)
    except Unreadable as error:
        plan.steps.extend(
            Step(path, one.agents, one.piece.component, LEAVE, reason=str(error)) for one in going
        )
        return
    if before is None:
        plan.changes.append(Change(path, None, None, None))
        return
    plan.steps.extend(Step(path, one.agents, one.piece.component, TAKE) for one in going)
    intact = file.intact and digest(before) == file.after
    if not left and intact:
        first = record.copy(file.before) if file.before is not None else None
        if file.made or first is not None:
            plan.changes.append(Change(path, before, first, None))
            return
    for one in reversed(going):
        try:
            text = pieces.take(text, one.piece, one.trace)
        except Unreadable as error:
            if _is_gone(text, one):
                continue
            plan.steps.remove(Step(path, one.agents, one.piece.component, TAKE))
            plan.steps.append(Step(path, one.agents, one.piece.component, LEAVE, reason=str(error)))
            left.append(one)
    after: bytes | None = text.encode()
    if not left and _is_empty(text):
        first = record.copy(file.before) if file.before is not None else None
        if file.made:
            after = None
        elif first is not None and not first.strip():
            after = first
    kept = None
    if left:
        kept = file._replace(intact=intact, after=digest(text.encode()), written=left)
    plan.changes.append(Change(path, before, after, kept))


def _plan_unrecorded(plan: Plan, scope: str, root: str, agents: Sequence[str]) -> None:
    """Plan to remove the pieces that are recognised in the files of agents."""
    options = SetupOptions(scope, root, agents, frozenset(COMPONENTS), pieces.SERVER)
    inside = root if scope == PROJECT else None
    files: dict[str, dict[str, tuple[str, Piece]]] = {}
    for path, agent, piece in [*placements(options), *_alternatives(options)]:
        try:
            files.setdefault(config_files.real(path, inside), {}).setdefault(piece.name, (agent, piece))
        except Unreadable:
            continue
    for path, found in files.items():
        _plan_recognised(plan, path, list(found.values()))


def _alternatives(options: SetupOptions) -> Iterator[Placement]:
    """Yield the pieces for the alternative files that an agent may read instead of its current one."""
    kinds = {BLOCK: "instructions", MEMBER: "mcp"}
    for name in options.agents:
        for _, _, piece in placements(options._replace(agents=[name])):
            for place in AGENTS[name].places[options.scope].get(kinds.get(piece.form, ""), ()):
                yield Placement(catalog.path_of(place, options.scope, options.root), name, piece)


def _plan_recognised(plan: Plan, path: str, found: list[tuple[str, Piece]]) -> None:
    try:
        before = config_files.read(path)
        if before is None:
            return
        text = config_files.decoded(before)
    except Unreadable:
        return
    steps = []
    for agent, piece in reversed(found):
        try:
            while pieces.recognised(text, piece):
                text = pieces.take(text, piece, None)
                steps.append(Step(path, [agent], piece.component, TAKE))
                if piece.form != ITEM:
                    break
            if piece.form == pieces.BASE and steps:
                text = pieces.take(text, piece, None)
        except Unreadable as error:
            # Ignore unreadable files without any trace of git-ctx.
            if pieces.MARK in text or pieces.HOOK in text or pieces.SERVER in text:
                steps.append(Step(path, [agent], piece.component, LEAVE, reason=str(error)))
    plan.steps.extend(steps)
    if text.encode() != before:
        plan.changes.append(Change(path, before, None if _is_empty(text) else text.encode(), None))


def _is_gone(text: str, one: Written) -> bool:
    """Return True if a piece has already been removed by another program."""
    try:
        return not pieces.recognised(text, one.piece)
    except Unreadable:
        return False


def _is_empty(text: str) -> bool:
    """Return True if a text is blank, or an empty JSON object without comments."""
    if is_blank(text):
        return True
    try:
        document = parse(text)
    except Unreadable:
        return False
    return document.root.plain == {} and not document.comments


def empty_directories(plan: Plan, root: str) -> list[str]:
    """Return the directories below `root` that removed files may leave empty, if there is no record."""
    found: set[str] = set()
    for change in plan.changes:
        directory = os.path.dirname(change.path)
        while change.after is None and directory.startswith(root.rstrip(os.sep) + os.sep):
            found.add(directory)
            directory = os.path.dirname(directory)
    return sorted(found)
