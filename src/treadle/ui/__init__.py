"""What a person has in front of them: kept, told to pages, and changed by tools (docs/ui.md)."""
