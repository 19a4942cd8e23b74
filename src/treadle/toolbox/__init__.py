"""The concrete tools: one module for each tool, in a package for each area."""
