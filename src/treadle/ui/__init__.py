"""The state of a person's screen: stored, sent to pages, and changed by tools (docs/ui.md)."""
