"""The attribute vocabularies of other programs, mapped to the columns of a span."""
