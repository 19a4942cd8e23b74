"""From ranked items to a context within a token budget."""
