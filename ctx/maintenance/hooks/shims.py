"""Text of the hook shim, and its insertion into and removal from an existing hook.

All four events use the same text, since git's arguments distinguish them: none after a commit, three after a
checkout, a digit after a merge, a word after a rewrite (githooks(5)). The part between two marks, the block,
also works inside any other sh hook and as the command of a hook in git's configuration.
"""

from __future__ import annotations

import re
from pathlib import Path

EVENTS = ("post-commit", "post-checkout", "post-merge", "post-rewrite")

SHELLS = frozenset({b"sh", b"bash", b"dash", b"ash", b"ksh", b"mksh"})
"""Interpreters that can run the block. zsh cannot: closing a descriptor that is not open fails there."""

_BLOCK = re.compile(
    rb"^# >>> git-ctx \d+ >>>\n(?:(?!# >>> git-ctx ).*\n)*?# <<< git-ctx <<<(?=\n|\Z)", re.MULTILINE
)
_MARK = re.compile(rb"^# (?:>>> git-ctx \d+ >>>|<<< git-ctx <<<)$", re.MULTILINE)
_OURS = re.compile(rb"#!/bin/sh\n# Made by `git ctx init`.*\n\Z")
_LOOKED_AT = 8000
"""Number of leading bytes in which a NUL marks a binary, as in git."""


def shim(event: str) -> bytes:
    """Return the shim for a missing hook. A wheel has it in the package, a checkout beside it."""
    package = Path(__file__).resolve().parents[2]
    for place in (package / "hooks", package.parent / "hooks"):
        if (place / event).is_file():
            return (place / event).read_bytes()
    raise FileNotFoundError(f"{package / 'hooks' / event}: git-ctx is not completely installed")


def block() -> bytes:
    """Return the block with its marks, without a final newline."""
    found = _BLOCK.search(shim(EVENTS[0]))
    assert found is not None
    return found.group()


def has_block(hook: bytes) -> bool:
    """Return True if a hook contains a complete block of any version."""
    return _BLOCK.search(hook) is not None


def is_torn(hook: bytes) -> bool:
    """Return True if a hook contains marks without a complete block: it was edited."""
    return _MARK.search(_BLOCK.sub(b"", hook)) is not None


def is_ours(hook: bytes) -> bool:
    """Return True if a hook is exactly a shim of any version."""
    return has_block(hook) and _OURS.fullmatch(without_block(hook)) is not None


def with_block(hook: bytes) -> bytes:
    """Return the hook with the block inserted after its shebang line, before anything can exit."""
    hook = without_block(hook)
    first, newline, rest = hook.partition(b"\n")
    if not first.startswith(b"#!"):
        return block() + b"\n" + hook
    if not newline:
        return first + b"\n" + block()
    return first + b"\n" + block() + b"\n" + rest


def without_block(hook: bytes) -> bytes:
    """Return the hook as before `with_block`."""
    while found := _BLOCK.search(hook):
        start, end = found.span()
        if end < len(hook):
            end += 1
        elif start:
            start -= 1
        hook = hook[:start] + hook[end:]
    return hook


def obstacle(hook: bytes) -> str | None:
    """Return the reason why a block cannot be inserted into a hook, or None."""
    if is_torn(hook):
        return "its git-ctx marks were edited"
    if b"\0" in hook[:_LOOKED_AT]:
        return "it is a binary"
    if not hook.startswith(b"#!"):
        # git runs a hook without a shebang with sh.
        return "it begins with a byte order mark" if hook.startswith(b"\xef\xbb\xbf") else None
    shell = _interpreter(hook)
    return None if shell in SHELLS else f"it is written for {shell.decode('utf-8', 'replace') or 'nothing'}"


def _interpreter(hook: bytes) -> bytes:
    """Return the interpreter named by the first line, skipping env and busybox."""
    line = hook[2:].partition(b"\n")[0].lstrip(b" \t")
    words = [word.rpartition(b"/")[2] for word in re.split(rb"[ \t]+", line.rstrip(b" \t"))]
    while len(words) > 1 and (words[0] in (b"env", b"busybox") or words[0][:1] == b"-" or b"=" in words[0]):
        words = words[1:]
    return words[0]
