"""Plans of a set-up or a removal. Planning changes nothing; a plan is carried out exactly as it was shown.

At a removal, a file that nothing else has changed gets its original bytes back. Otherwise each piece is
removed in place. Without a record (another clone, a lost git directory) pieces are recognised by their
content.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ctx.agents.setup import catalog, config_files, pieces, texts
from ctx.agents.setup.catalog import AGENTS, PROJECT
from ctx.agents.setup.jsonc import Unreadable, is_blank, parse
from ctx.agents.setup.options import COMPONENTS, Placement, SetupOptions, placements, wording
from ctx.agents.setup.pieces import BLOCK, ITEM, KEEP, LEAVE, MEMBER, Piece
from ctx.agents.setup.record import FileRecord, Record, Written, digest
from ctx.errors import CtxError

TAKE = "take"
"""Action of a removal, in addition to those of ctx.agents.setup.pieces."""


class Step(NamedTuple):
    """Action on one piece, and its agents. `made`: the file is new. `reason`: why, for LEAVE."""

    path: str
    agents: list[str]
    component: str
    action: str
    made: bool = False
    reason: str = ""


class Change(NamedTuple):
    """Content of a file before and after (None: no file), and its new record (None: no record)."""

    path: str
    before: bytes | None
    after: bytes | None
    record: FileRecord | None


class Plan(NamedTuple):
    """Steps to show and changes to carry out."""

    steps: list[Step]
    changes: list[Change]

    @property
    def is_whole(self) -> bool:
        """Return True if no step is LEAVE."""
        return all(step.action != LEAVE for step in self.steps)


def plan_setup(options: SetupOptions, record: Record) -> Plan:
    """Return the plan of a set-up; changes nothing."""
    options = options._replace(installed=record.components())
    plan = Plan([], [])
    inside = options.root if options.scope == PROJECT else None
    files: dict[str, dict[str, tuple[Piece, list[str]]]] = {}
    for path, agent, piece in placements(options):
        try:
            in_file = files.setdefault(config_files.real(path, inside), {})
        except Unreadable as error:
            plan.steps.append(_left_alone(path, [agent], piece, error))
            continue
        in_file.setdefault(piece.name, (piece, []))[1].append(agent)
    for path, in_file in files.items():
        _plan_file(plan, options, record.files.get(path), path, list(in_file.values()))
    return plan


def carry_out(plan: Plan, record: Record, *, removing: bool = False) -> None:
    """Carry out a plan; the caller holds the lock of the record. Raises CtxError.

    Insertions are recorded before they are written and removals after, so that after an interruption the
    record still names every piece that exists.
    """
    try:
        for change in plan.changes:
            if config_files.read(change.path) != change.before:
                raise CtxError(
                    f"{change.path} has just been changed by another program: run the command again"
                )
            if not removing:
                _note(change, record)
        if not removing:
            record.save()
    except Unreadable as error:
        raise CtxError(f"{change.path}: {error}") from None
    except OSError as error:
        raise _refused(record.directory, error) from error
    for change in plan.changes:
        try:
            if change.after is None:
                config_files.remove(change.path)
            elif change.after != change.before:
                config_files.write(change.path, change.after)
        except OSError as error:
            raise _refused(change.path, error) from error
    try:
        for change in plan.changes if removing else ():
            _note(change, record)
        record.directories = config_files.remove_empty(record.directories)
        record.save()
    except OSError as error:
        raise _refused(record.directory, error) from error


def _note(change: Change, record: Record) -> None:
    """Add a change to the record. Raises OSError."""
    if change.after is not None:
        made = config_files.missing_directories(change.path)
        record.directories.extend(directory for directory in made if directory not in record.directories)
    if change.record is None:
        record.files.pop(change.path, None)
        return
    if change.before is not None and change.record.before == digest(change.before):
        record.keep_copy(change.before)
    record.files[change.path] = change.record


def _refused(path: str, error: OSError) -> CtxError:
    return CtxError(
        f"{path} cannot be changed ({error.strerror or error}): fix its permissions, then run the command "
        "again; it continues where it stopped"
    )


def _left_alone(path: str, agents: list[str], piece: Piece, error: Unreadable) -> Step:
    return Step(path, agents, piece.component, LEAVE, reason=str(error))


def _plan_file(
    plan: Plan,
    options: SetupOptions,
    known: FileRecord | None,
    path: str,
    requested: list[tuple[Piece, list[str]]],
) -> None:
    try:
        before = config_files.read(path)
        text = config_files.decoded(before or b"")
        config_files.check_writable(path)
        for piece, _ in requested:
            pieces.check(piece.form, text)
    except Unreadable as error:
        plan.steps.extend(_left_alone(path, agents, piece, error) for piece, agents in requested)
        return
    written = {one.piece.name: one for one in known.pieces} if known else {}
    for piece, agents in requested:
        old = written.get(piece.name)
        users = sorted({*agents, *(old.agents if old else ())})
        if piece.value is None:
            piece = piece._replace(value=_instructions(options, users))
        try:
            text, action, trace = pieces.put(text, piece, old.piece if old else None)
        except Unreadable as error:
            plan.steps.append(_left_alone(path, agents, piece, error))
            continue
        plan.steps.append(Step(path, agents, piece.component, action, made=before is None))
        if old is not None:
            kept = old.piece if action == KEEP else piece
            written[piece.name] = Written(kept, users, trace if action == pieces.PUT else old.trace)
        elif action != KEEP:
            written[piece.name] = Written(piece, users, trace)
    after = text.encode()
    entries = list(written.values())
    if not entries or (known is not None and after == before and entries == known.pieces):
        return
    if known is None or (before is None and known.made):
        first = FileRecord(before is None, None if before is None else digest(before), True, "", [])
    else:
        intact = known.intact and before is not None and digest(before) == known.after
        first = known._replace(intact=intact)
    plan.changes.append(Change(path, before, after, first._replace(after=digest(after), pieces=entries)))


def _instructions(options: SetupOptions, agents: Iterable[str]) -> str:
    """Return the text of an instruction block, which covers the components of all its agents."""
    found = [wording(options, AGENTS[name]) for name in agents]
    server, subagent = any(one.server for one in found), any(one.subagent for one in found)
    return texts.instructions(texts.Wording(server, options.minimal, subagent, options.strong))


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
    going = [one for one in file.pieces if {*one.agents} <= {*agents}]
    if all({*one.agents}.isdisjoint(agents) for one in file.pieces):
        return
    left = [
        one._replace(agents=[agent for agent in one.agents if agent not in agents])
        for one in file.pieces
        if one not in going
    ]
    try:
        before = config_files.read(path)
        text = config_files.decoded(before or b"")
        if going and before is not None:
            config_files.check_writable(path)
    except Unreadable as error:
        plan.steps.extend(_left_alone(path, one.agents, one.piece, error) for one in going)
        return
    if before is None:
        plan.changes.append(Change(path, None, None, None))
        return
    plan.steps.extend(Step(path, one.agents, one.piece.component, TAKE) for one in going)
    intact = file.intact and digest(before) == file.after
    first = record.copy(file.before)
    if not left and intact and (file.made or first is not None):
        plan.changes.append(Change(path, before, first, None))
        return
    for one in reversed(going):
        try:
            text = pieces.take(text, one.piece, one.trace)
        except Unreadable as error:
            if not _is_recognised(text, one.piece):
                continue  # another program has removed it
            plan.steps.remove(Step(path, one.agents, one.piece.component, TAKE))
            plan.steps.append(_left_alone(path, one.agents, one.piece, error))
            left.append(one)
    after: bytes | None = text.encode()
    if not left and _is_empty(text):
        if file.made:
            after = None
        elif first is not None and not first.strip():
            after = first
    kept = None
    if left:
        kept = file._replace(intact=intact, after=digest(text.encode()), pieces=left)
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
                steps.append(_left_alone(path, [agent], piece, error))
    plan.steps.extend(steps)
    if text.encode() != before:
        plan.changes.append(Change(path, before, None if _is_empty(text) else text.encode(), None))


def _is_recognised(text: str, piece: Piece) -> bool:
    try:
        return pieces.recognised(text, piece)
    except Unreadable:
        return True


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
