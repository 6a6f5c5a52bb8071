"""Access to git: nothing outside this package starts git or imports pygit2.

Objects, references and settings are returned as plain values; object ids are raw bytes of 20 or 32, paths are
bytes. Nothing here writes to a repository, takes one of git's locks or fetches, except `promised`.
"""
