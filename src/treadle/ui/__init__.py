"""What a person has in front of them: a small state that the server holds and pages mirror."""
