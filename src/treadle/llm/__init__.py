"""Provider access: the only place that knows the wire."""
