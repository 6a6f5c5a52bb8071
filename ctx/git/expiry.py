"""Expiry dates as git reads them."""

from __future__ import annotations

import time

from ctx.errors import UsageError
from ctx.git.repository import Repository

GRACE = "2.weeks.ago"
"""Default age at which unreachable data expires, as for git's unreachable objects (git-gc(1))."""


def cutoff(repository: Repository, grace: str | None) -> float:
    """Return the time, in seconds since 1970, before which unreachable data may be removed.

    `grace` is an expiry date of git (`2.weeks.ago`, `now`, `never`, see git-reflog(1)) or a number of days;
    the default is `ctx.gcGrace`. Raises UsageError if it is neither.
    """
    requested = grace if grace is not None else repository.settings.get("ctx.gcGrace") or GRACE
    if requested.isascii() and requested.isdigit():
        requested = f"{requested}.days.ago"
    # No other command parses dates as git does.
    done = repository.run("-c", f"ctx.gcGrace={requested}", "config", "--type=expiry-date", "ctx.gcGrace")
    if done.returncode:
        raise UsageError(
            f"the grace period {requested!r} is not valid: give a number of days, or a date as git reads it, "
            "for example 3.days.ago, now or never (--grace, ctx.gcGrace)"
        )
    return min(float(done.stdout), time.time())
