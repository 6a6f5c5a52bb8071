"""Evaluation of searches against history: a commit gives a query (its subject) and the places to find."""
