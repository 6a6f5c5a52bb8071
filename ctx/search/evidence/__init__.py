"""Why files answer a question: what the ranker saw in them, said so that it can be checked.

Evidence is told after the ranking and has no part in it. Whatever it says of words stands in the text at that
moment; where the text cannot be read, less is claimed.
"""
