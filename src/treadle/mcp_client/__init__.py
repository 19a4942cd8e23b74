"""Tools of other MCP servers: starts the servers, and offers their tools to models.

The texts, schemas and results of a server are foreign data. The SDK for MCP loads slowly, so only
the functions that connect to a server import it.
"""
