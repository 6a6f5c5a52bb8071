"""`python -m ctx` is `git-ctx`."""

from __future__ import annotations

import sys

from ctx.cli.main import main

sys.exit(main())
