"""A whole graph as columns, and what is drawn out of them: for whoever goes through all facts without asking the graph.

:mod:`.graph_columns` reads the graph and keeps it, :mod:`.said` looks up whether it says something, :mod:`.links` which
relations lie between kinds of entities, :mod:`.unions` draws members of lists, and :mod:`.negatives` draws negatives.
"""
