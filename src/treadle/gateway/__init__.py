"""The gateway: calls of other programs, passed on to providers and kept as spans."""

from treadle.gateway.gateway import Gateway

__all__ = ["Gateway"]
