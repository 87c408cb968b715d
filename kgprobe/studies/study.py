"""The common result of all studies: a verdict, rows of data, plots, and notes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kgprobe.report.plots import CategoryPlot, Plot


@dataclass(frozen=True, slots=True)
class Study:
    """The result of one study.

    Attributes:
        name: as on the command line.
        title: subject of the study, model and numbers.
        verdict: the main result in a sentence or two.
        data: every number behind table and plots, in rows of the same columns.
        table: the rows shown first.
        plots: in the order of the page.
        notes: results and exclusions, in sentences.
        config: settings that affect the numbers; JSON-compatible.
    """

    name: str
    title: str
    verdict: str
    data: Sequence[Mapping[str, Any]]
    table: Sequence[Mapping[str, Any]]
    plots: Sequence[Plot | CategoryPlot]
    notes: Sequence[str] = ()
    config: Mapping[str, Any] = field(default_factory=dict)


def counted_notes(title: str, messages: Iterable[str]) -> list[str]:
    """Return one note per different message with its count, the most frequent first."""
    return [f"{title}: {count:,}: {message}." for message, count in Counter(messages).most_common()]


def json_number(value: float) -> float | None:
    """Return a number, or None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)
