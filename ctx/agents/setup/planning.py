"""Planning a set-up, and carrying a plan out: a plan changes nothing, and is carried out as it was shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ctx.agents.setup import catalog, pieces, places, texts, wishes
from ctx.agents.setup.jsonc import Unreadable
from ctx.agents.setup.pieces import KEEP, LEAVE, Piece
from ctx.agents.setup.record import FileRecord, Record, Written, digest
from ctx.agents.setup.wishes import Wanted, Wish
from ctx.errors import CtxError


class Step(NamedTuple):
    """What happens to one piece, for which agents. `made`: the file is new. `reason` goes with LEAVE."""

    path: str
    agents: list[str]
    component: str
    action: str
    made: bool = False
    reason: str = ""


class Change(NamedTuple):
    """A file as it is, as it will be (None: no file), and what is recorded of it then (None: nothing)."""

    path: str
    before: bytes | None
    after: bytes | None
    record: FileRecord | None


class Plan(NamedTuple):
    """Steps for people, changes to carry out."""

    steps: list[Step]
    changes: list[Change]

    @property
    def is_whole(self) -> bool:
        """Whether nothing has to be left alone."""
        return all(step.action != LEAVE for step in self.steps)


def plan_setup(wish: Wish, record: Record) -> Plan:
    """Look at everything and change nothing."""
    wish = wish._replace(have=record.components())
    plan = Plan([], [])
    inside = wish.root if wishes.is_of_project(wish) else None
    groups: dict[str, list[Wanted]] = {}
    for one in wishes.wanted(wish):
        try:
            groups.setdefault(places.real(one.path, inside), []).append(one)
        except Unreadable as error:
            component = one.piece.component
            plan.steps.append(Step(one.path, [one.agent], component, LEAVE, reason=str(error)))
    for path, group in groups.items():
        _plan_file(plan, wish, record.files.get(path), path, group)
    return plan


def carry_out(plan: Plan, record: Record, *, removing: bool = False) -> None:
    """Write what was planned, under the lock of the record. Raises CtxError.

    What is put in is recorded before it is written, what is taken out after it: whatever is interrupted, the
    record names all that is there.
    """
    try:
        for change in plan.changes:
            if places.read(change.path) != change.before:
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
                places.remove(change.path)
            elif change.after != change.before:
                places.write(change.path, change.after)
        except OSError as error:
            raise _refused(change.path, error) from error
    try:
        for change in plan.changes if removing else ():
            _note(change, record)
        record.directories = places.remove_empty(record.directories)
        record.save()
    except OSError as error:
        raise _refused(record.directory, error) from error


def _note(change: Change, record: Record) -> None:
    """Put a change into the record. Raises OSError."""
    if change.after is not None:
        made = places.missing_directories(change.path)
        record.directories.extend(directory for directory in made if directory not in record.directories)
    if change.record is None:
        record.files.pop(change.path, None)
        return
    if change.before is not None and change.record.before == digest(change.before):
        record.keep_copy(change.before)
    record.files[change.path] = change.record


def _refused(path: str, error: OSError) -> CtxError:
    return CtxError(
        f"{path} cannot be changed ({error.strerror or error}): mend its permissions, then run the command "
        "again; it goes on where it was"
    )


def _plan_file(plan: Plan, wish: Wish, known: FileRecord | None, path: str, group: list[Wanted]) -> None:
    wanted = _merged(group)
    try:
        before = places.read(path)
        text = places.decoded(before or b"")
        places.check_writable(path)
        for piece, _ in wanted:
            pieces.check(piece.form, text)
    except Unreadable as error:
        plan.steps.extend(
            Step(path, agents, piece.component, LEAVE, reason=str(error)) for piece, agents in wanted
        )
        return
    written = {one.piece.name: one for one in known.written} if known else {}
    for asked, agents in wanted:
        old = written.get(asked.name)
        users = sorted({*agents, *(old.agents if old else ())})
        piece = _worded(asked, wish, users) if asked.value is None else asked
        try:
            text, action, trace = pieces.put(text, piece, old.piece if old else None)
        except Unreadable as error:
            plan.steps.append(Step(path, agents, piece.component, LEAVE, reason=str(error)))
            continue
        plan.steps.append(Step(path, agents, piece.component, action, made=before is None))
        if old is not None:
            kept = old.piece if action == KEEP else piece
            written[piece.name] = Written(kept, users, trace if action == pieces.PUT else old.trace)
        elif action != KEEP:
            written[piece.name] = Written(piece, users, trace)
    after = text.encode()
    entries = list(written.values())
    if not entries or (known is not None and after == before and entries == known.written):
        return
    if known is None or (before is None and known.made):
        first = FileRecord(before is None, None if before is None else digest(before), True, "", [])
    else:
        intact = known.intact and before is not None and digest(before) == known.after
        first = known._replace(intact=intact)
    plan.changes.append(Change(path, before, after, first._replace(after=digest(after), written=entries)))


def _worded(piece: Piece, wish: Wish, users: Iterable[str]) -> Piece:
    """A block of instructions with its text: it speaks of what any of its agents has."""
    found = [wishes.wording(wish, catalog.agent(name)) for name in users]
    server, subagent = any(one.server for one in found), any(one.subagent for one in found)
    words = texts.Wording(server, wish.minimal, subagent, wish.strong)
    return piece._replace(value=texts.instructions(words))


def _merged(group: list[Wanted]) -> list[tuple[Piece, list[str]]]:
    """The pieces of one file, each once, with the agents that want it."""
    found: dict[str, tuple[Piece, list[str]]] = {}
    for one in group:
        _, agents = found.setdefault(one.piece.name, (one.piece, []))
        if one.agent not in agents:
            agents.append(one.agent)
    return list(found.values())
