"""Search-ready arrays: segments of documents, and views that select the documents of one tree.

They are derived from clusters and blobs, local and disposable.
"""
