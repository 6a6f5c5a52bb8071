"""Text of `git ctx --version`."""

from __future__ import annotations

from ctx import _version


def version_text() -> str:
    """Return version, commit, descriptor of a new index, and channel, one per line."""
    from ctx.storage.descriptor import embedded_model

    commit = _version.commit()
    return "\n".join(
        (
            f"git-ctx {_version.__version__}",
            f"commit {commit}",
            f"descriptor {embedded_model()}",
            f"channel {_version.channel(commit)}",
        )
    )
