"""Putting text on the clipboard, with whichever of the usual programs is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from ctx.errors import CtxError

_SECONDS = 10
_NONE = "there is no clipboard here: install wl-copy, xclip or xsel, or use --stdout and copy it yourself"


def require_clipboard() -> None:
    """Raises CtxError where no program for it is there, before any work is done for nothing."""
    if all(shutil.which(command[0]) is None for command in _programs()):
        raise CtxError(_NONE)


def copy_text(text: str) -> None:
    """Copy a text. Raises CtxError where there is no clipboard."""
    for command in _programs():
        if shutil.which(command[0]) is None:
            continue
        try:
            # What these programs print or keep open must not hold anybody up.
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
