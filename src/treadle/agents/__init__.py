"""Agents: their definitions, their runner, and the report that replaces a missing model."""
