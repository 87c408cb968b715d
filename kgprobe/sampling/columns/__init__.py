"""A whole graph as columns on disk, and draws from them, to process all facts without queries.

:mod:`.graph_columns` reads the graph, caches it and looks up statements, and :mod:`.statement_negatives` draws
negatives.
"""
