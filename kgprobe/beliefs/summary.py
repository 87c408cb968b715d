"""What people read of a belief: alpha and beta, E[theta], and its credible interval.

docs/methods.md, 2. The interval needs SciPy, so that it is found here, of all facts that a round has touched, and
written beside the rest of the round.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kgprobe.beliefs.draw import credible_interval
from kgprobe.graph.client import Row
from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes

# What is sent of one fact, beside its ids: four numbers, and where they begin.
_BELIEF_BYTES = 50


def belief_rows(touched: Sequence[Row], most_bytes: int = MESSAGE_BYTES // 2) -> Iterator[list[Row]]:
    """The rows that ``beliefs/summarize`` takes, in parts that a message can hold.

    Args:
        touched: ``{subject, fact, alpha, beta}`` of facts, each once.
        most_bytes: about how many a part may have; one fact is sent whatever it has.

    Yields:
        ``{subject, beliefs: {fact: [alpha, beta, low, high]}}``, each subject once in a part.

    Cost: linear in the facts, but for their intervals.
    """
    alpha, beta = (np.array([row[name] for row in touched], np.float64) for name in ("alpha", "beta"))
    values = np.stack([alpha, beta, *credible_interval(alpha, beta)], axis=1).tolist()
    part: dict[str, dict[str, list[float]]] = {}
    size = 0
    # Those of a subject stand together, so that no more subjects than need be are in two parts.
    for place in sorted(range(len(touched)), key=lambda place: str(touched[place]["subject"])):
        subject, fact = touched[place]["subject"], touched[place]["fact"]
        part.setdefault(subject, {})[fact] = values[place]
        size += encoded_bytes([subject, fact]) + _BELIEF_BYTES
        if size >= most_bytes:
            yield _rows(part)
            part, size = {}, 0
    if part:
        yield _rows(part)


def _rows(part: dict[str, dict[str, list[float]]]) -> list[Row]:
    return [{"subject": subject, "beliefs": beliefs} for subject, beliefs in part.items()]
