"""Searching one tree: open it, rank its rows, and build the answer."""
