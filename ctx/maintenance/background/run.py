"""A background run: indexes the HEAD tree of each work tree, writes one log line, and prints nothing.

It is the main function of a separate process: all errors go to the log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from ctx.errors import CtxError, StoreUnusable
from ctx.git.heads import Head, heads
from ctx.git.location import Location, locate
from ctx.git.repository import Repository
from ctx.indexing.reports import INDEXING_IN_PROGRESS
from ctx.maintenance.background import log
from ctx.maintenance.background.detach import clear_git_variables, detach, use_repository
from ctx.maintenance.background.run_lock import RunLock
from ctx.maintenance.due import is_due
from ctx.storage.store import Store

WAITS = 600.0
"""Seconds to wait for another process that is indexing."""

PAUSE = 0.5
"""Seconds between two checks of the lock."""

ONLY_FILES = "0"
"""Third argument of post-checkout for a file checkout (githooks(5))."""


def event_of(arguments: Sequence[str]) -> str | None:
    """Return the event for these hook arguments; None if no run is needed."""
    if len(arguments) >= 3:
        return None if arguments[2] == ONLY_FILES else "post-checkout"
    if arguments:
        return "post-merge" if arguments[0].isdigit() else "post-rewrite"
    return "post-commit"


def run_detached(trigger: str) -> None:
    """Detach from the calling process, which exits at once, and run in the background."""
    detach()
    clear_git_variables()
    try:
        location = locate(".")
        with Repository(location) as repository:
            store = Store(location.common_dir, (), repository.permissions)
        store.check_layout()
        store.prepare()
        use_repository(location.common_dir)
        run_one_at_a_time(store, location, trigger)
    except (CtxError, OSError):
        # Not a repository, or not writable: there is no log either.
        return


def run_one_at_a_time(store: Store, location: Location, trigger: str) -> None:
    """Record an event and handle all recorded ones, unless another run does. Raises OSError."""
    lock = RunLock(store.path, store.permissions)
    lock.record_event()
    while lock.has_events() and lock.acquire():
        try:
            start = log.Start(int(time.time()), os.getpid(), trigger)
            left = lock.begin(start)
            if left is not None:
                log.write(store.path, log.killed(left), store.permissions)
            log.write(store.path, handle_events(lock, location, start), store.permissions)
        finally:
            lock.release()


def handle_events(lock: RunLock, location: Location, start: log.Start) -> log.Run:
    """Index all HEADs until there are no new events."""
    began, events = time.monotonic(), 0
    covered: dict[bytes, log.Covered] = {}
    errors: list[str] = []
    try:
        while recorded := lock.take_events():
            events += recorded
            cover_heads(location, start.trigger, covered, errors)
    except Exception as error:
        errors.append(one_line(error))
    outcome = log.FAILED if errors else log.DONE
    seconds = round(time.monotonic() - began, 3)
    trees = list(covered.values())
    return log.Run(start.time, seconds, start.trigger, events, outcome, trees, "; ".join(errors) or None)


def cover_heads(
    location: Location, trigger: str, covered: dict[bytes, log.Covered], errors: list[str]
) -> None:
    """Index each HEAD that is not in `covered`; skip trees that are no longer a HEAD.

    While another process indexes, wait and check again: it may be a search, or be killed. An unreadable HEAD
    does not stop the others; a store that cannot be written does. Raises CtxError.
    """
    from ctx.search.session import SearchSession
    from ctx.share.fetch import fetch_on_miss

    tried = set(covered)
    end = time.monotonic() + WAITS
    with SearchSession(location.common_dir) as index:
        index.on_miss = fetch_on_miss
        while (head := next_head(location, tried)) is not None:
            revision = head.branch.removeprefix("refs/heads/") if head.branch else None
            try:
                report = index.index(
                    None if revision else head.commit.hex(), branch=revision, trigger=trigger, background=True
                )
            except StoreUnusable:
                raise
            except CtxError as error:
                errors.append(f"{revision or head.commit.hex()[:12]}: {one_line(error)}")
            else:
                if report.skipped == INDEXING_IN_PROGRESS and time.monotonic() < end:
                    time.sleep(PAUSE)
                    continue
                covered[head.commit] = log.Covered(
                    report.tree,
                    report.revision,
                    report.skipped,
                    report.processed_new_clusters,
                    report.embedded_chunks,
                    report.reused_chunks,
                )
            tried.add(head.commit)
        if is_due(index):
            from ctx.maintenance.gc import collect_unless_busy

            collect_unless_busy(index)


def next_head(location: Location, tried: set[bytes]) -> Head | None:
    """Return a HEAD that was not tried yet, first that of the work tree of the event."""
    found = [
        head for head in heads(location._replace(directory=location.common_dir)) if head.commit not in tried
    ]
    found.sort(key=lambda head: head.path != location.work_tree)
    return found[0] if found else None


def one_line(error: Exception) -> str:
    """Return an error as one line."""
    if isinstance(error, CtxError):
        return str(error).partition("\n")[0]
    return f"{type(error).__name__}: {error}".partition("\n")[0]
