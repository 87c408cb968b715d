"""Names of the measures of knowledge. Light imports, so that the command line can list them."""

from kgprobe.baselines.register import BASELINES
from kgprobe.search.strategies import STRATEGIES

# Prefix of the strategy in the name of a distractor measure: ``distractors:random``.
DISTRACTORS = "distractors:"


def measure_names() -> list[str]:
    """Return the names of all measures: the distractor measure by strategy, and the baselines."""
    return [f"{DISTRACTORS}{strategy}" for strategy in STRATEGIES.names()] + list(BASELINES.names())
