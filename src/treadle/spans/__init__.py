"""Spans: the model, and how events and exports of other programs become spans."""
