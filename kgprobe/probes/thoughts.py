"""Table of the thoughts before answers: number, length and cuts; see :mod:`kgprobe.models.generating.thinking`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgprobe.base.tables import Table
from kgprobe.probes.confidence import share_of


def thought_tables(tokens: Sequence[int], cut: int, described: Mapping[str, Any]) -> Iterator[Table]:
    """Yield the table of thoughts, if a mode of thinking was requested or an answer has a thought.

    ``tokens`` are those of each answer's thought, 0 without one; ``cut`` counts thoughts that the model did not end.
    """
    import pandas as pd

    mode = (described.get("generator") or {}).get("thinking")
    if not tokens or not (mode or cut or any(tokens)):
        return
    lengths = pd.Series(tokens)
    row = {
        "thinking": mode["mode"] if mode else "default",
        "answers": len(lengths),
        "with a thought": share_of(lengths > 0),
        "mean tokens": float(lengths.mean()),
        "most tokens": int(lengths.max()),
        "cut": cut,
    }
    note = "Tokens are per answer, before its first word; cut thoughts were not ended by the model itself."
    yield Table("thoughts", "Thoughts before the answers", [row], [note])
