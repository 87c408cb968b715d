"""The graph: Bolt client, schema, queries and writing."""
