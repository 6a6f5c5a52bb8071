"""Sharing an index through a git remote: clusters and snapshots under one notes ref.

All git commands run in a separate bare repository below the index, so the user's refs, settings and
objects are not changed. Data from a remote is validated before it is used.
"""
