"""The relations that a model knows least, each with a question that it got wrong: the first screen of a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from kgprobe.beliefs.group_rates import GroupRates
from kgprobe.results.finding import LEAST, Finding, ranked_groups, rate_of, relation_groups
from kgprobe.stats.proportions import Share
from kgprobe.tables import Heading, ResultRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgprobe.beliefs.graph_rates import GroupRate

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class WorstRelation(ResultRow):
    """One of the relations that are known least, with an unknown fact of it.

    Attributes:
        facts: number of facts that ``known`` is over.
        of_asked: True if these are the asked ones; else they are all of the graph.
        known: share of right answers over the graph, or the share of the asked facts that are known.
        question, answer, prediction: a question that the model got wrong, the right answer and its own; empty if the
            model answered no question of this relation wrong.
    """

    relation: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    of_asked: bool
    known: Annotated[Share, Heading("known")]
    question: Annotated[str, Heading("question")]
    answer: Annotated[str, Heading("right answer")]
    prediction: Annotated[str, Heading("prediction")]


def worst_relations(finding: Finding) -> list[WorstRelation]:
    """Return the three relations that are known least, the least known first.

    They are those with an estimate over the graph, narrow ones first; if there are fewer than three, also those of the
    asked facts, with at least five facts first. Relations that are known whole are left out.
    """
    by_asked = next((grouping.groups for grouping in finding.groupings if grouping.by == "relation"), ())
    many = [group for group in by_asked if group.facts >= LEAST]
    over_graph = () if finding.over_graph is None else relation_groups(finding)
    stages: list[Sequence[GroupRates | GroupRate]] = [list(ranked_groups(finding)), over_graph, many, by_asked]
    groups: dict[str, GroupRates | GroupRate] = {}
    for candidates in stages:
        for group in sorted(candidates, key=lambda group: (rate_of(group).value, group.name)):
            if len(groups) < _SHOWN and rate_of(group).value < 1:
                groups.setdefault(group.name, group)
    facts = finding.facts
    wrong = facts[(facts["right"] <= facts["wrong"]) & facts["prediction"].notna()]
    # The surest unknown fact first; of equal ones, the first by id.
    wrong = wrong.sort_values(["known_high", "fact"]).drop_duplicates("relation_label")
    examples = {row["relation_label"]: row for row in wrong.to_dict("records")}
    worst = []
    for group in sorted(groups.values(), key=lambda group: (rate_of(group).value, group.name)):
        example = examples.get(group.name, {"question": "", "answer": "", "prediction": ""})
        texts = example["question"], example["answer"], example["prediction"]
        worst.append(WorstRelation(group.name, group.facts, isinstance(group, GroupRates), rate_of(group), *texts))
    return worst
