"""From the bytes of a file to items, terms and references."""
