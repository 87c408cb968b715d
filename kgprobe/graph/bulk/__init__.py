"""Bulk loading of large graphs: import files for ``neo4j-admin database import``, and the steps after the import."""
