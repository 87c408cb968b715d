"""Graphs too large for statements: a source as files for ``neo4j-admin database import``, and what follows."""
