"""Programs that build parts of Treadle."""
