"""What answers say of facts that were not asked, and which facts to ask next."""

# How facts are chosen, see :mod:`.draw` and :mod:`.choosing`; by the names of the command line.
SAMPLING = ("hardest", "thompson", "information", "monte-carlo", "iteration")

# What is made of answers: ``graph``, :mod:`.learner`; ``propagation`` counts a fact's own answers and those of the
# facts around it, :mod:`.propagation`; ``own`` counts its own alone.
LEARNERS = ("graph", "propagation", "own")

# Of the logit of theta of made-up facts, see :mod:`.reference`.
DISTRIBUTIONS = ("normal", "student", "mixture")
