"""Repeatable measurements, each a command: ``python -m benchmarks.NAME [--json]``."""
