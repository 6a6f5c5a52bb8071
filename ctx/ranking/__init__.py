"""Ranking: order the rows of a view for a query."""
