"""Models side by side, over the facts that all of them were asked.

Rounds ask each model what *it* fails on. Three models that know as much then have three rates, none of which says how
much they know: only facts that were asked of all of them set them side by side.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kgprobe.analysis.finding import About, Finding
from kgprobe.analysis.rates import Group, group_of


@dataclass(frozen=True, slots=True)
class Side:
    """One of the findings.

    Attributes:
        asked: how many facts it is about.
        shared: what the model did on the facts that all were asked; None where there are none.
        theta: the mean of E[theta] over these.
    """

    about: About
    asked: int
    shared: Group | None
    theta: float | None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Several findings, over the same facts.

    Attributes:
        sides: the best first; as they came where nothing is shared.
        facts: how many facts all of them were asked.
        caveat: what the rates speak of, to stand beside them wherever they stand.
    """

    sides: Sequence[Side]
    facts: int
    caveat: str


def set_side_by_side(findings: Sequence[Finding]) -> SideBySide:
    """What several models did on the facts that each of them was asked.

    Cost: a pass over the asked facts of each.

    Args:
        findings: at least one, on one graph; by whatever probe.
    """
    shared = set(findings[0].facts["fact"]).intersection(*(finding.facts["fact"] for finding in findings[1:]))
    sides = []
    for finding in findings:
        common = finding.facts[finding.facts["fact"].isin(shared)]
        group = group_of("shared", common) if shared else None
        theta = float(common["theta"].mean()) if shared else None
        sides.append(Side(finding.about, finding.overall.facts, group, theta))
    sides.sort(key=lambda side: -side.shared.win_rate.value if side.shared else 0)
    return SideBySide(sides, len(shared), _caveat(findings, len(shared)))


def _caveat(findings: Sequence[Finding], shared: int) -> str:
    if not shared:
        return (
            "No fact was asked of all of them, so their rates cannot be compared: each speaks of other facts. Measure"
            " all models on the same facts: the same list, or the same limit and seed."
        )
    told = f"Rates are over the {shared:,} facts that all of them were asked"
    if any(finding.about.caveat for finding in findings):
        return f"{told}; these were asked because a model probably fails on them, and are no sample of the graph."
    return f"{told}."
