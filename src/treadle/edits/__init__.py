"""Plans edits on exact bytes, stores them as proposals, and applies and undoes them."""
