"""Maps the attribute vocabularies of other programs to the columns of a span."""
