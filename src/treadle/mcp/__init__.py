"""The MCP front end: serves the tools of a repository to other programs (docs/mcp.md).

Import its modules inside the function that needs them: the `mcp` package takes seconds to import.
"""
