"""Tests that a change affects: ``python -m tests.affected`` selects them by imports and names, and runs them.

The syntax trees of all modules give a graph of definitions. A definition leads to those that it names, in its own
module or through imports, and an import leads to the top level of the imported module. A test is selected when a path
leads from it to a changed file. Names that Python looks up at run time (plug-ins, commands, queries, data files) are
followed where the test has them in a string. Nothing is imported. Imports under ``TYPE_CHECKING`` and annotations are
not followed.
"""
