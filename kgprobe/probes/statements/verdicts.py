"""The verdict on a fact by the judgements of its statement and of its negatives; docs/methods/statements.md."""

from collections.abc import Sequence

from kgprobe.probes.outcome import Verdict
from kgprobe.probes.statements.metrics import FALSE, NONE, TRUE, UNKNOWN

# Stored with the settings that results depend on.
RIGHT_MEANS = "fact judged true, negatives judged false"


def verdict_of(fact: int, negatives: Sequence[int]) -> Verdict:
    """Return the verdict on a fact: right if it is judged true and all of its judged negatives false.

    A model that judges everything true is never right.

    Args:
        fact: position in ``JUDGEMENTS``, or ``NONE``.
        negatives: the same for each negative; ``NONE`` is left out.
    """
    judged = [negative for negative in negatives if negative != NONE]
    if fact == NONE or not judged:
        return Verdict.OFF_FORMAT
    if fact == UNKNOWN:
        return Verdict.REFUSED
    if fact == TRUE and all(negative == FALSE for negative in judged):
        return Verdict.RIGHT
    return Verdict.WRONG
