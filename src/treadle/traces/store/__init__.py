"""The store of spans: a protocol, and an implementation that needs only Python and SQLite."""
