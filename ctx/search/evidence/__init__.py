"""Evidence for search results: the reasons why files match a question, in a form that can be checked.

Evidence is computed after the ranking and never affects it. Words are reported only if they occur in the text
of the file; if the text cannot be read, only what the index proves is reported.
"""
