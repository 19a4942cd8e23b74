"""Programs that Treadle starts: their environment, their output, and the end of all of them."""
