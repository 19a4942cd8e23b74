"""Queries of the SQLite store, as functions of a connection: pages, groups, sums, skeletons."""
