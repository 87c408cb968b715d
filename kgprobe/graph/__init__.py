"""The graph: its server, the client behind Bolt, its schema and what is written to it."""
