"""The diff of a proposal in the terminal: its rows, the person's decisions, and the view."""
