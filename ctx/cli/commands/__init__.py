"""The commands of git-ctx, a module each: they parse, call the engine and print, and return the exit status.

A module here imports nothing heavy when it is loaded, so that `--help` and start-up stay quick.
"""
