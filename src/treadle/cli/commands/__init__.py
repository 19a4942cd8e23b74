"""The commands of the command line. Each module defines one command as `COMMAND`."""
