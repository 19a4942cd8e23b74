"""The interactive terminal: a conversation with the assistant, in Textual."""
