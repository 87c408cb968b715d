"""Results: typed values and their views."""
