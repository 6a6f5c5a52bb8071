"""Dependencies between the files of a tree: imports and references, parsed from the files on demand.

Nothing is stored. Edges come from the text of the source file. References are matched by name only; types are
not known.
"""
