"""The tool contract, the registry and the executor. No concrete tool is defined here."""
