"""The text that is installed, and how it gets into a hook that is there already and out of it again.

The four shims are one text, since git's arguments tell the events apart: none after a commit, three after a
checkout, a digit after a merge, a word after a rewrite (githooks(5)). The part between two marks, the block,
also works inside any other sh hook and as the command of a hook that is set in git's configuration.
"""

from __future__ import annotations

import re
from pathlib import Path

EVENTS = ("post-commit", "post-checkout", "post-merge", "post-rewrite")

SHELLS = frozenset({b"sh", b"bash", b"dash", b"ash", b"ksh", b"mksh"})
"""The interpreters that understand the block. zsh does not close what is not open."""

_BLOCK = re.compile(
    rb"^# >>> git-ctx \d+ >>>\n(?:(?!# >>> git-ctx ).*\n)*?# <<< git-ctx <<<(?=\n|\Z)", re.MULTILINE
)
_MARK = re.compile(rb"^# (?:>>> git-ctx \d+ >>>|<<< git-ctx <<<)$", re.MULTILINE)
_OURS = re.compile(rb"#!/bin/sh\n# Made by `git ctx init`.*\n\Z")
_LOOKED_AT = 8000
"""Bytes in which a NUL tells a binary, as in git."""


def shim(event: str) -> bytes:
    """The hook that is installed where there is none. A wheel has it in the package, a checkout beside it."""
    package = Path(__file__).resolve().parents[2]
    for place in (package / "hooks", package.parent / "hooks"):
        if (place / event).is_file():
            return (place / event).read_bytes()
    raise FileNotFoundError(f"{package / 'hooks' / event}: git-ctx is not completely installed")


def block() -> bytes:
    """What stands between the marks, with them, without a newline at the end."""
    found = _BLOCK.search(shim(EVENTS[0]))
    assert found is not None
    return found.group()


def has_block(hook: bytes) -> bool:
    """Whether a hook holds a whole block of any version."""
    return _BLOCK.search(hook) is not None


def is_torn(hook: bytes) -> bool:
    """Whether a hook holds marks that make no whole block: somebody has edited them."""
    return _MARK.search(_BLOCK.sub(b"", hook)) is not None


def is_ours(hook: bytes) -> bool:
    """Whether a hook is a shim of any version and nothing else."""
    return has_block(hook) and _OURS.fullmatch(without_block(hook)) is not None


def with_block(hook: bytes) -> bytes:
    """The hook with the block right after the line that names its interpreter, before anything can end it."""
    hook = without_block(hook)
    first, newline, rest = hook.partition(b"\n")
    if not first.startswith(b"#!"):
        return block() + b"\n" + hook
    if not newline:
        return first + b"\n" + block()
    return first + b"\n" + block() + b"\n" + rest


def without_block(hook: bytes) -> bytes:
    """The hook as it was before `with_block`."""
    while found := _BLOCK.search(hook):
        start, end = found.span()
        if end < len(hook):
            end += 1
        elif start:
            start -= 1
        hook = hook[:start] + hook[end:]
    return hook


def obstacle(hook: bytes) -> str | None:
    """Why no block can be put into a hook; None where one can."""
    if is_torn(hook):
        return "its git-ctx marks were edited"
    if b"\0" in hook[:_LOOKED_AT]:
        return "it is a binary"
    if not hook.startswith(b"#!"):
        # git hands a hook without an interpreter to sh.
        return "it begins with a byte order mark" if hook.startswith(b"\xef\xbb\xbf") else None
    shell = _interpreter(hook)
    return None if shell in SHELLS else f"it is written for {shell.decode('utf-8', 'replace') or 'nothing'}"


def _interpreter(hook: bytes) -> bytes:
    """The name of the program that the first line names, behind env and busybox."""
    line = hook[2:].partition(b"\n")[0].lstrip(b" \t")
    words = [word.rpartition(b"/")[2] for word in re.split(rb"[ \t]+", line.rstrip(b" \t"))]
    while len(words) > 1 and (words[0] in (b"env", b"busybox") or words[0][:1] == b"-" or b"=" in words[0]):
        words = words[1:]
    return words[0]
