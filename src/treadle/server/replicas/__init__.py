"""Connects several servers of one project over NATS, so that they act as one server."""
