"""The store of spans: a protocol, and the engine that needs nothing but Python."""
