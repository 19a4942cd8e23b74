"""The gateway: forwards calls of other programs to providers and records them as spans."""

from treadle.gateway.gateway import Gateway

__all__ = ["Gateway"]
