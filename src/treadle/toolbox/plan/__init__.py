"""The tool for the plan of a conversation."""
