"""Ranking: from a query and a view to an ordered list of rows."""
