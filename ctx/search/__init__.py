"""Searching one tree: opening it, ranking its rows, and turning them into an answer."""
