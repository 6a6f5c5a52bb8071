"""Sharing an index through a git remote: clusters and snapshots under one notes ref.

Everything is done in a bare repository of our own below the index, so that the user's refs, settings and
objects stay as they are. What comes from a remote is checked before anything takes it for true.
"""
