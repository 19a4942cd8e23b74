"""The state of the page: saved, sent to pages, and changed by tools (docs/ui.md)."""
