"""Approval: which calls run, which ones a person decides on, and which ones are refused."""
