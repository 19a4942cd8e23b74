"""The code index: items, retrieval, and snippets of verified bytes."""
