"""Commands of git-ctx, one module each: parse arguments, call the engine, print, return the exit status.

These modules import heavy modules only inside functions, so that `--help` and start-up stay fast.
"""
