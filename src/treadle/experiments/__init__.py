"""Changes recorded model calls, runs them again, and compares the outcomes with the original."""
