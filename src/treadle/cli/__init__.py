"""The command line. It parses input and shows output, and contains no other logic."""
