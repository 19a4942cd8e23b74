"""Defines agents and runs them. An agent is a system prompt for a model, with tools and limits."""
