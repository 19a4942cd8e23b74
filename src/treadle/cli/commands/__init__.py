"""The commands. Each module contains one command as its `COMMAND`."""
