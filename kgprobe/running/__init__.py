"""Measurements of a list of facts, adaptive rounds, and judged graphs: ask, store, resume."""
