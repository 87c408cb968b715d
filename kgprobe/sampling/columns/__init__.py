"""A whole graph as columns on disk, and draws from them, to process all facts without queries.

:mod:`.graph_columns` reads the graph and caches it, :mod:`.said` looks up statements, and :mod:`.statement_negatives`
draws negatives.
"""
