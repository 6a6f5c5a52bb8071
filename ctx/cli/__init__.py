"""The command line: the main program and its commands."""
