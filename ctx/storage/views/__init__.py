"""Search-ready arrays: segments of documents, and the view that says which of them one tree has.

Derived from clusters and blobs, local and disposable.
"""
