"""The editor for messages of the person."""
