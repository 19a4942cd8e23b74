"""Questions for approval in the terminal: the waiting ones, and the panel that shows them."""
