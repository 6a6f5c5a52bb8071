"""Models on other machines: embedders, rerankers and query expansion, all over HTTP and all off by default.

What is sent where is in the hands of the user's configuration alone, is told before the first byte, and is
written down (`ctx.models.ledger`).
"""
