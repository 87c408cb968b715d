"""A result fact by fact, as pages show it: its finding, the questions, and the ages of outdated answers."""

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
    """The content of one result's pages.

    Attributes:
        label: the result's name among the others on a page.
        finding: rates and beliefs.
        asked: every asked fact with its question, see :func:`~kgprobe.analysis.asked_facts.asked_facts`.
        outdated: answers that were right at an earlier date.
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
    """Collect the content of a result's pages.

    Cost: one pass over its outcomes, and a walk from the subjects of outdated answers.

    Args:
        graph: the graph of the result; outdated answers have no ages without it.
        label: the result's name.
        outcomes, alternatives: see :func:`~kgprobe.analysis.asked_facts.asked_facts`.
    """
    facts = asked_facts(finding.facts, outcomes, alternatives)
    return Examined(label, finding, facts, outdated_answers(graph, facts, finding.about.as_of))
