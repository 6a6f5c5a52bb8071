"""The index on disk: stored objects, their keys, and reading them back."""
