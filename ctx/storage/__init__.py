"""The index on disk: what is stored of a tree, under which key, and how it is read back."""
