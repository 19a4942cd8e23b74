"""One module a language: grammar, queries and the naming of items."""
