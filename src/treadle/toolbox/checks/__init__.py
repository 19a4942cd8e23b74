"""Tools that run the checks of a project."""
