"""Graphs too large for statements: a source as the files that ``neo4j-admin database import`` reads, and what follows."""
