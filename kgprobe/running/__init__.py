"""Measurements of a list of facts, and adaptive rounds: ask, store, resume."""
