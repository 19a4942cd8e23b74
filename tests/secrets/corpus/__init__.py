"""Texts with planted secrets and harmless ones that look alike, made by a script each time."""
