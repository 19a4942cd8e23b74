"""The tool contract, the registry and the dispatcher. Knows nothing of any concrete tool."""
