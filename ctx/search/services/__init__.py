"""Searching with the vectors and rerankers of configured models."""
