"""The embedded model, and clients of model services: embedders, rerankers and chat models over HTTP.

Services are off by default. The user's configuration alone determines the data and the hosts. A notice is
shown before the first byte, and the data is counted (`ctx.models.ledger`).
"""
