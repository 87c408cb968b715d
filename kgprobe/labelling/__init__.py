"""Knowledge labels: how a model answers each fact of a graph, in one table; roles of facts in an experiment.

docs/methods/labels.md. :mod:`.table` stores the labels, one row for each fact;
:mod:`.classes` has SliCK's classes and the profile of a fact; :mod:`.roles` stores which facts were
taught, held out, or drawn as controls.
"""
