"""Measurements of a list of facts, adaptive rounds, and predictions for whole graphs: ask, store, resume."""
