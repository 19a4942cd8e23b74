"""The gateway: calls of other programs, passed on to providers and kept as spans."""
