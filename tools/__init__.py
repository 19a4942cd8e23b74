"""What is used to make parts of Treadle, not to run it."""
