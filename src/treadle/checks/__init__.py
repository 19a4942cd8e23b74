"""Checks: build, test and lint commands of a project, run and parsed."""
