"""The state of a conversation on the screen, without Textual."""
