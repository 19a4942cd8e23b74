"""The tree of a recorded trace and the details of its spans."""
