"""The command line: parses input, shows output, holds no logic."""
