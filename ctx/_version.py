"""The version of this program, and the commit that it was built from.

`COMMIT` is filled in by `git archive` (export-subst in .gitattributes) and by ctx/_stamp.py when a wheel or
a source distribution is built; in a checkout the placeholder stands and git is asked.
"""

from __future__ import annotations

import os

__version__ = "0.1.0"

COMMIT = "$Format:%H$"


def commit() -> str:
    """Return the full id of the commit of this code, with `-dirty` if it was changed, or "unknown"."""
    if not COMMIT.startswith("$"):
        return COMMIT
    return checkout_commit(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) or "unknown"


def channel(commit: str) -> str:
    """Return where this code comes from, given what `commit` says.

    "package": built from that commit (a wheel, a source archive); "checkout": run from a work tree that has
    it; "modified": either, with changes on top; "unknown".
    """
    if commit == "unknown":
        return commit
    if commit.endswith("-dirty"):
        return "modified"
    return "checkout" if COMMIT.startswith("$") else "package"


def checkout_commit(checkout: str) -> str | None:
    """Return the commit of a checkout in the form of `commit`; None if it has none or git fails.

    Only a checkout of its own counts: sources that were copied into another repository are none.
    """
    if not os.path.lexists(os.path.join(checkout, ".git")):
        return None
    import subprocess

    command = ["git", "-C", checkout, "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    # In a hook they name the user's repository. This file can import nothing that knows which they are.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip() or None
