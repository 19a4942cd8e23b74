"""Agents: their definitions, the runner, and reports made by rules where there is no model."""
