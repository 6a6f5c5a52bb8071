"""The hooks that tell git-ctx of a new HEAD: what is installed, where, and how it is taken away again.

Nothing here runs when git runs a hook; that is the sh in hooks/ and, behind it, ctx.maintenance.background.
"""
