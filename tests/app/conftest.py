"""Fixtures of the application tests."""

from tests.app.desk import desk

__all__ = ["desk"]
