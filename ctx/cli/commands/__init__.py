"""Commands of git-ctx, one module each: parse arguments, do the work, return or print the result.

These modules import heavy modules only inside functions, so that `--help` and start-up stay fast.
"""
