"""Stored answers: the trail of outcomes with all evidence, and a table of them, a row for each answer."""
