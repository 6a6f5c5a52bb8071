"""Explaining why a revision cannot be resolved, with the remedy. Used only after resolving failed."""

from __future__ import annotations

import os
import re

from ctx.git import process
from ctx.git.location import Location

FETCH_ALL = "git fetch --refetch --no-filter"
"""Fetches every object again, in a partial clone also those that its filter leaves out."""
FETCH_TREES = "git fetch --refetch --filter=blob:none"
"""Fetches the trees of all commits, and no new blobs."""

_GENERIC_MESSAGE = "Not a valid object name"
_CANDIDATE = re.compile(r"^hint:   ([0-9a-f]+) (\w+)", re.MULTILINE)
_STEPS = "~^0123456789"
"""Characters after the name of a commit that select an ancestor."""
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def why_unknown(location: Location, revision: str) -> str:
    """Return a sentence about a revision whose object cannot be read."""
    if "\0" in revision or "\n" in revision:
        return f"{revision!r} is not a revision: it contains a line break or null byte"
    if ".." in revision and ":" not in revision:
        return f"'{revision}' is a range; search what differs in it with --in {revision}"
    message = _git_message(location, revision)
    if candidates := _CANDIDATE.findall(message):
        named = ", ".join(f"{kind} {name}" for name, kind in candidates)
        return f"'{revision}' is ambiguous: it begins the ids of {named}; write more digits"
    if name := _id_of(location, revision):
        return (
            f"the object {name} ('{revision}') is not in this clone, or damaged: "
            "`git fetch <remote> <id>` brings it, `git fsck` looks for damage"
        )
    base = _without_steps(revision)
    if base and base != revision and _id_of(location, f"{base}^{{commit}}"):
        if os.path.isfile(os.path.join(location.common_dir, "shallow")):
            return (
                f"'{revision}' lies beyond the end of this shallow clone: `git fetch --deepen=<n>` brings "
                "<n> more commits, `git fetch --unshallow` all of them"
            )
        return f"'{revision}' goes beyond the history of '{base}', which `git log {base}` shows"
    because = "" if message.startswith(_GENERIC_MESSAGE) else f" ({message})"
    return (
        f"'{revision}' names no commit and no tree in {location.git_dir}{because}; "
        "`git branch --all` and `git tag` list names, `git fetch` brings new ones"
    )


def _git_message(location: Location, revision: str) -> str:
    """Return git's message for a name that it cannot find."""
    return process.error_message(location.run("cat-file", "-e", "--end-of-options", revision))


def _id_of(location: Location, revision: str) -> str | None:
    """Return the id that a name stands for, even if that object is not here."""
    done = location.run("rev-parse", "--verify", "--end-of-options", revision)
    name = os.fsdecode(done.stdout).strip()
    return name if _ID.fullmatch(name) else None


def _without_steps(revision: str) -> str:
    """Return the name of the commit that `~` and `^` at the end of a revision start from."""
    name = revision.rstrip(_STEPS)
    return name + revision[len(name) :].partition("~")[0].partition("^")[0]
