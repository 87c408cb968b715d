"""What the measures of knowledge are called; light, so that the command line can list them."""

from kgprobe.baselines.register import BASELINES
from kgprobe.search.strategies import STRATEGIES

# Stands before the strategy in the name of a distractor measure: ``distractors:random``.
DISTRACTORS = "distractors:"


def measure_names() -> list[str]:
    """All measures: the distractor measure by strategy, and the baselines."""
    return [*(f"{DISTRACTORS}{strategy}" for strategy in STRATEGIES.names()), *BASELINES.names()]
