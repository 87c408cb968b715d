"""What people read of a belief beside alpha and beta: E[theta] and its credible interval.

docs/methods.md, 2. The interval needs SciPy, so that it is found here, of all facts that a round has touched, and
written beside the rest of the round.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kgprobe.beliefs.draw import credible_interval
from kgprobe.graph.client import Row
from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes

# What is sent of one fact, beside its ids: two numbers, and where they begin.
_INTERVAL_BYTES = 30


def interval_rows(touched: Sequence[Row], most_bytes: int = MESSAGE_BYTES // 2) -> Iterator[list[Row]]:
    """The rows that ``beliefs/summarize`` takes, in parts that a message can hold.

    Args:
        touched: ``{subject, fact, alpha, beta}`` of facts, each once.
        most_bytes: about how many a part may have; one fact is sent whatever it has.

    Yields:
        ``{subject, intervals: {fact: [low, high]}}``, each subject once in a part.

    Cost: linear in the facts, but for their intervals.
    """
    low, high = credible_interval(*(np.array([row[name] for row in touched], np.float64) for name in ("alpha", "beta")))
    part: dict[str, dict[str, list[float]]] = {}
    size = 0
    # Those of a subject stand together, so that no more subjects than need be are in two parts.
    for place in sorted(range(len(touched)), key=lambda place: str(touched[place]["subject"])):
        subject, fact = touched[place]["subject"], touched[place]["fact"]
        part.setdefault(subject, {})[fact] = [float(low[place]), float(high[place])]
        size += encoded_bytes([subject, fact]) + _INTERVAL_BYTES
        if size >= most_bytes:
            yield _rows(part)
            part, size = {}, 0
    if part:
        yield _rows(part)


def _rows(part: dict[str, dict[str, list[float]]]) -> list[Row]:
    return [{"subject": subject, "intervals": intervals} for subject, intervals in part.items()]
