"""Beliefs about facts that follow from answers, and the choice of the facts to ask next."""
