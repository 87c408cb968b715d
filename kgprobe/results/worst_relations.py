"""The relations that a model knows least, each with a question that it got wrong: the first screen of a page."""

from dataclasses import dataclass
from typing import Annotated

from kgprobe.results.finding import LEAST, Finding, ranked_groups, rate_of, relation_groups
from kgprobe.results.rates import Group
from kgprobe.stats.proportions import Share
from kgprobe.tables import Heading, ResultRow

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

    They are those of :func:`ranked_groups`; of relations without a narrow interval over the graph, the asked facts
    count. Relations that are known whole are left out.
    """
    groups = list(ranked_groups(finding)) or list(relation_groups(finding))
    if len(groups) < _SHOWN:
        groups += [group for group in _asked_groups(finding) if group.name not in {other.name for other in groups}]
    groups = [group for group in groups if rate_of(group).value < 1]
    facts = finding.facts
    wrong = facts[(facts["right"] <= facts["wrong"]) & facts["prediction"].notna()]
    # The surest unknown fact first; of equal ones, the first by id.
    wrong = wrong.sort_values(["known_high", "fact"]).drop_duplicates("relation_label")
    examples = {row["relation_label"]: row for row in wrong.to_dict("records")}
    worst = []
    for group in sorted(groups, key=lambda group: (rate_of(group).value, group.name))[:_SHOWN]:
        example = examples.get(group.name, {"question": "", "answer": "", "prediction": ""})
        texts = example["question"], example["answer"], example["prediction"]
        worst.append(WorstRelation(group.name, group.facts, isinstance(group, Group), rate_of(group), *texts))
    return worst


def _asked_groups(finding: Finding) -> list[Group]:
    """Return the relations of the asked facts with enough facts."""
    groups = next((grouping.groups for grouping in finding.groupings if grouping.by == "relation"), ())
    return [group for group in groups if group.facts >= LEAST]
