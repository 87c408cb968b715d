"""Replays of sampling strategies on synthetic references and on the demo model's; `python -m benchmarks.replay`."""

import itertools

# Facts of a synthetic reference, facts of a round, and requests a fact.
FACTS, BATCH, REQUESTS = 2_500, 64, 8
# Kinds of synthetic references: share of hard facts, spread, likeness.
KINDS = tuple(itertools.product((0.1, 0.3, 0.5, 0.7, 0.9), (1.0, 3.0, 6.0), (0.0, 0.5, 0.9)))
# Requests a fact at which replays are compared.
TIMES = ("¼", "½", "1", "2", "4", "8")
