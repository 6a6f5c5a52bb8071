"""Packs: excerpts of one tree for a task, within a number of tokens, that can be updated after edits."""
