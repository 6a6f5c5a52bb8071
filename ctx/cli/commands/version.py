"""What `git ctx --version` prints."""

from __future__ import annotations

from ctx import _version


def version_text() -> str:
    """Version, commit and the descriptor of a new index, a line each."""
    from ctx.storage.descriptor import embedded_model

    return f"git-ctx {_version.__version__}\ncommit {_version.commit()}\ndescriptor {embedded_model()}"
