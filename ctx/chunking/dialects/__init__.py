"""Rules of single languages: tables, and readers of names that are not in a field."""
