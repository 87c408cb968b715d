"""What asks, keeps and goes on: measurements of a list of facts, and adaptive rounds."""
