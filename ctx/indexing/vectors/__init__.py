"""Vectors of configured models: embedding what a tree lacks, and keeping what was paid for."""
