"""The rules of single languages: tables, and how a name is read where a field does not give it."""
