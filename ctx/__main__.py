"""`python -m ctx` is `git-ctx`."""

from __future__ import annotations

import sys

from ctx.cli import main

sys.exit(main())
