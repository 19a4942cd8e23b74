"""Forwards calls of other programs to providers, and records the calls as spans."""

from treadle.gateway.gateway import Gateway

__all__ = ["Gateway"]
