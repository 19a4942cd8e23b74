"""Decides about each tool call: whether it runs, a person is asked, or it is refused."""
