"""The interactive terminal: a conversation with the assistant, in Textual."""

import os

os.environ.setdefault("TEXTUAL_FPS", "120")
"""Textual draws a change at its next tick. 60 ticks a second delay a key by up to 17 ms."""
