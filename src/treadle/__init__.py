"""Treadle: a code-aware LLM assistant with a flight recorder."""

__version__ = "0.1.0"
