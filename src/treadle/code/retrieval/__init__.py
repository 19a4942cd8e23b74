"""From a query to ranked items and files."""
