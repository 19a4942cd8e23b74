"""Runs the build, test and lint commands of a project, and parses their output."""
