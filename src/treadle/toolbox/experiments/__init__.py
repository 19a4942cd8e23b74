"""Tools that change a recorded call, run it again and compare."""
