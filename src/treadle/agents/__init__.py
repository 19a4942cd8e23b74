"""Defines agents and runs them. An agent is a prompt for a model, with its own tools and limits."""
