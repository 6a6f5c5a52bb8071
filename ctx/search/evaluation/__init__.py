"""Grading searches by what happened: commits say which places somebody had to find, and in which words."""
