"""The span model, and the conversion of events and of other programs' exports into spans."""
