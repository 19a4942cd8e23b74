"""Tools that speak to what a person has in front of them."""
