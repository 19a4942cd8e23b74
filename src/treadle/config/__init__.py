"""Configuration: what can be set, where values come from, and which layer wins."""
