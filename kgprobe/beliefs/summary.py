"""What people read of a belief: alpha and beta, E[theta], and its credible interval.

docs/methods.md, 2. The interval needs SciPy, so that it is found here, of all facts that a round has touched, and
written beside the rest of the round.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from kgprobe.beliefs.draw import credible_interval
from kgprobe.graph.client import Row
from kgprobe.graph.messages import MESSAGE_BYTES, encoded_bytes

# What is sent of one fact, beside its id: four numbers, and where they begin.
_BELIEF_BYTES = 60


def belief_rows(run: str, touched: Sequence[Row], most_bytes: int = MESSAGE_BYTES // 2) -> Iterator[list[Row]]:
    """The rows that ``beliefs/summarize`` takes, in parts that a message can hold.

    Args:
        run: whose beliefs.
        touched: ``{fact, alpha, beta}`` of facts, each once.
        most_bytes: about how many a part may have; one fact is sent whatever it has.

    Yields:
        ``{belief: 'RUN/FACT', values: [alpha, beta, low, high]}``, in the order of ``touched``.

    Cost: linear in the facts, but for their intervals.
    """
    alpha, beta = (np.array([row[name] for row in touched], np.float64) for name in ("alpha", "beta"))
    values = np.stack([alpha, beta, *credible_interval(alpha, beta)], axis=1).tolist()
    part: list[Row] = []
    size = 0
    for row, its in zip(touched, values, strict=True):
        belief = f"{run}/{row['fact']}"
        part.append({"belief": belief, "values": its})
        size += encoded_bytes(belief) + _BELIEF_BYTES
        if size >= most_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part
