"""The screens and overlays of the terminal, one in each module."""
