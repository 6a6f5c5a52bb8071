"""Coding agents: the MCP server they call, and setting them up."""
