"""Decides which tool calls run, which calls a person decides on, and which are refused."""
