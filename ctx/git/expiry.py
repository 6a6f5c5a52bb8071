"""Expiry dates as git reads them."""

from __future__ import annotations

import time

from ctx.errors import UsageError
from ctx.git import process
from ctx.git.repository import Repository

GRACE = "2.weeks.ago"
"""How long what git no longer reaches is kept, as git keeps unreachable objects (git-gc(1))."""
_STASH = b"refs/stash"
"""Its older entries are in its reflog only, and git never lets them expire."""


def cutoff(repository: Repository, grace: str | None) -> float:
    """The time, in seconds since 1970, before which what git does not reach may go.

    `grace` is an expiry date of git (`2.weeks.ago`, `now`, `never`, see git-reflog(1)) or a number of days;
    without one `ctx.gcGrace` counts. Raises UsageError for what is neither.
    """
    wish = grace if grace is not None else repository.config("ctx.gcGrace") or GRACE
    if wish.isascii() and wish.isdigit():
        wish = f"{wish}.days.ago"
    # Git's own reading of dates, which comes with no other command.
    done = process.run(
        repository.place.directory,
        ["-c", f"ctx.gcgrace={wish}", "config", "--type=expiry-date", "ctx.gcgrace"],
    )
    if done.returncode:
        raise UsageError(
            f"the grace period {wish!r} is no time: give a number of days, or a date as git reads it, "
            "for example 3.days.ago, now or never (--grace, ctx.gcGrace)"
        )
    return min(float(done.stdout), time.time())
