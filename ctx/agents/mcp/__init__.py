"""The server for coding agents: Model Context Protocol over the official SDK, one project for each server."""
