"""The questions for approval that wait for an answer, and the panel that shows them."""
