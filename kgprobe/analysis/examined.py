"""A result gone through fact by fact: its finding, what was asked of each, how old its outdated answers are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from kgprobe.analysis.asked_facts import asked_facts
from kgprobe.analysis.finding import Finding
from kgprobe.analysis.outdated import OutdatedAnswers, outdated_answers
from kgprobe.graph.client import Graph
from kgprobe.probes.outcome import Alternatives, Outcome


@dataclass(frozen=True, slots=True)
class Examined:
    """What pages show of one result.

    Attributes:
        label: what the result is called among the others of a page.
        finding: rates, and what is believed.
        asked: every asked fact beside what was put to the model, see :func:`~kgprobe.analysis.asked_facts.asked_facts`.
        outdated: its answers that were right before.
    """

    label: str
    finding: Finding
    asked: pd.DataFrame = field(compare=False, repr=False)
    outdated: OutdatedAnswers


def examine(
    graph: Graph | None,
    label: str,
    finding: Finding,
    outcomes: Iterable[Outcome],
    alternatives: Callable[[Any], Alternatives],
) -> Examined:
    """Go through a result. Cost: one pass over its outcomes, and a walk from the subjects of outdated answers.

    Args:
        graph: that was asked; without one, outdated answers have no age.
        label: what the result is called.
        outcomes: in the order of asking.
        alternatives: of an outcome's evidence; see :class:`~kgprobe.probes.register.ProbeKind`.
    """
    asked = asked_facts(finding.facts, outcomes, alternatives)
    return Examined(label, finding, asked, outdated_answers(graph, asked, finding.about.as_of))
