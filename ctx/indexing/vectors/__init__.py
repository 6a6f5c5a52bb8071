"""Vectors of configured models: embedding missing texts, and reusing vectors already paid for."""
