"""Indexing of a tree: clusters, manifest nodes and the snapshot."""
