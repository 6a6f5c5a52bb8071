"""Setting up coding agents: what is written into their configuration, and how it is taken out again.

Files of users are edited, never replaced. What an agent reads where is data: a folder for each agent.
"""
