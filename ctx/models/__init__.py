"""Models on other machines: embedders, rerankers and query expansion, all over HTTP and all off by default.

The user's configuration alone determines what is sent where. It is announced before the first byte, and
recorded (`ctx.models.ledger`).
"""
