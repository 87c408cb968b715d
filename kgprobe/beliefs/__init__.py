"""What answers say of facts that were not asked, and which facts to ask next."""

# How facts are chosen, see :mod:`.draw`; by the names of the command line.
SAMPLING = ("thompson", "monte-carlo", "iteration")
