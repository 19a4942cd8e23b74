"""Recorded model calls, changed, run again and compared with the original."""
