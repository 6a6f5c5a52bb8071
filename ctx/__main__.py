"""`python -m ctx` is `git-ctx`."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def start() -> NoReturn:
    """Run the command line as a process of its own."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # No traceback for Ctrl-C while the program is loaded, and after its end; `main` has its own handlers.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ctx.cli.main import main

    sys.exit(main())


if __name__ == "__main__":
    start()
