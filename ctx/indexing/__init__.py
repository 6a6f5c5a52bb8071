"""Making what a tree lacks: clusters, manifest nodes, the snapshot."""
