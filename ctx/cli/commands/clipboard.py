"""Copying text to the clipboard with the first available program of a list."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from ctx.errors import CtxError

_SECONDS = 10
_NONE = "there is no clipboard here: install wl-copy, xclip or xsel, or use --stdout and copy it yourself"


def require_clipboard() -> None:
    """Raise CtxError if no clipboard program is installed. Called before any work is done."""
    if all(shutil.which(command[0]) is None for command in _programs()):
        raise CtxError(_NONE)


def copy_text(text: str) -> None:
    """Copy a text to the clipboard. Raises CtxError if no program succeeds."""
    for command in _programs():
        if shutil.which(command[0]) is None:
            continue
        try:
            # These programs may keep running in the background: do not wait for their output.
            done = subprocess.run(
                command,
                input=text.encode("utf-8", "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return
    raise CtxError(_NONE)


def _programs() -> list[list[str]]:
    if sys.platform == "darwin":
        return [["pbcopy"]]
    found = []
    if os.environ.get("WAYLAND_DISPLAY"):
        found.append(["wl-copy"])
    if os.environ.get("DISPLAY"):
        found += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return [*found, ["clip.exe"]]
