"""Set-up of coding agents: edits to their configuration, and removal of these edits.

Files of users are edited, never replaced. Each agent has a folder with data about its configuration files.
"""
