"""Beliefs about facts that follow from answers, and the choice of the facts to ask next."""

# Distributions of the logit of theta of synthetic facts, see :mod:`.reference`.
DISTRIBUTIONS = ("normal", "student", "mixture")
