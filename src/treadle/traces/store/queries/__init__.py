"""Reading from the SQLite store: pages, groups, sums, skeletons, as functions of a connection."""
