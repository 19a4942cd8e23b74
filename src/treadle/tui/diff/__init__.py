"""Shows the diff of a proposal in the terminal, and stores the person's decisions about hunks."""
