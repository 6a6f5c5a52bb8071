"""Who uses whom among the files of a tree: imports and references, read from the files in question on demand.

Nothing is stored. An edge is read off the text of the file that it comes from; a reference is told by the
name alone, as no types are known here.
"""
