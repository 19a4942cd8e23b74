"""The saved state of the web page, which open pages show and tools change (docs/ui.md)."""
