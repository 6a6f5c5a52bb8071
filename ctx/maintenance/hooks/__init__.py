"""Installation and removal of the git hooks that notify git-ctx of a new HEAD.

This package does not run in a hook; that is the sh in hooks/, which starts ctx.maintenance.background.
"""
