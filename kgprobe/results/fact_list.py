"""List of the asked facts of a run or measurement: the unknown ones, the known ones, or those about entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.intervals import Share
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading, Names, ResultRow
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.graph.names import entity_ids
from kgprobe.graph.rows import column_by
from kgprobe.results.finding import by_certainty
from kgprobe.results.result import Listing, Result
from kgprobe.sources.values import plain_name

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.graph.client import Graph

# Columns of a finding's facts that a listed fact has as they are.
_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("right", "wrong", "belief", "question", "answer", "prediction"),
)


@dataclass(frozen=True, slots=True)
class ListedFact(ResultRow):
    """An asked fact.

    Attributes:
        fact, subject, relation, object: ids.
        known: the probability that the model knows the fact, with its 90% credible interval.
        right, wrong: own answers.
        belief: see :mod:`kgprobe.beliefs.summary`.
        question: latest question that agrees with the belief.
        answer, prediction: its right answer, and the model's; None if that was right.
    """

    fact: str
    subject: str
    subject_label: Annotated[str, Heading("subject")]
    relation: str
    relation_label: Annotated[str, Heading("relation")]
    object: str
    object_label: Annotated[str, Heading("object")]
    known: Annotated[Share, Heading("known")]
    right: int
    wrong: int
    belief: str
    question: str
    answer: str
    prediction: str | None

    def cells(self, names: Names | None = None) -> dict[str, Any]:
        """Return the cells of a table by heading; the last one is the number of right answers."""
        return {**ResultRow.cells(self, names), "right answers": f"{self.right:,} of {self.right + self.wrong:,}"}


_KNOWN = f"Known: probability that the model knows the fact, {CREDIBILITY:.0%} interval."


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class FactList(Result):
    """Asked facts of a run or measurement; one row for each.

    Attributes:
        name: name of the run or measurement.
        facts: the listed facts: the surest unknown or the surest known first; of both, the least known first.
        is_known: True for known facts, False for unknown facts, None for both.
        about: labels of the entities that they are about; empty for all entities.
        asked: number of all asked facts.
    """

    name: str
    facts: Annotated[Sequence[ListedFact], Listing("{kind} facts", _KNOWN)]
    is_known: bool | None
    about: Sequence[str]
    asked: int

    @property
    def kind(self) -> str:
        """The listed facts, as the beginning of a title."""
        return {True: "Known", False: "Unknown", None: "Asked"}[self.is_known]

    def summary(self) -> str:
        """Return the number of the listed and of the asked facts."""
        are = [f"about {' or '.join(self.about)}"] if self.about else []
        if self.is_known is not None:
            surely = sum(BeliefWord(fact.belief).is_sure for fact in self.facts)
            are.append(f"{'known' if self.is_known else 'unknown'}, {surely:,} of them surely")
        facts = counted(self.asked, "asked fact")
        if not are:
            return f"{self.name}: {facts}."
        verb = "is" if len(self.facts) == 1 else "are"
        return f"{self.name}: {len(self.facts):,} of {facts} {verb} {' and '.join(are)}."


def make_fact_list(
    name: str, facts: "pd.DataFrame", graph: "Graph | None", *, known: bool | None, about: Sequence[str]
) -> FactList:
    """Return asked facts; see :meth:`kgprobe.results.measurement.StoredAnswers.facts`.

    Args:
        facts: the asked facts, with the columns of a finding's facts.
        graph: graph of the entities' names; None for a data set, whose facts have their own.

    Raises:
        UnknownNameError: an entity is unknown or ambiguous.
    """
    names = _labels(facts)
    ids = _ids_named(names, about) if graph is None else entity_ids(graph, about)
    if graph is not None and about:
        names = column_by("id", "label", graph.read("sample/labels", ids=list(ids)))
    chosen = facts[facts["subject"].isin(ids) | facts["object"].isin(ids)] if about else facts
    chosen = chosen.sort_values(["known", "fact"]) if known is None else by_certainty(chosen)[known]
    rows = []
    for row in chosen.to_dict("records"):
        known_share = Share(row["known"], row["known_low"], row["known_high"])
        rows.append(ListedFact(known=known_share, **{name: row[name] for name in _COLUMNS}))
    return FactList(name=name, facts=rows, is_known=known, about=[names[id_] for id_ in ids], asked=len(facts))


def _labels(facts: "pd.DataFrame") -> dict[str, str]:
    """Return the labels of the facts' subjects and objects by id."""
    labels: dict[str, str] = {}
    for end in ("subject", "object"):
        labels |= zip(facts[end], facts[f"{end}_label"], strict=True)
    return labels


def _ids_named(labels: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Return the ids of entities of a data set, given by id or label.

    Raises:
        UnknownNameError: an entity is unknown or ambiguous.
    """
    ids = []
    for name in names:
        plain = plain_name(name).lower()
        same = [name] if name in labels else [id_ for id_, label in labels.items() if label.lower() == plain]
        if len(same) != 1:
            fault = (
                f"{len(same)} entities are called {name!r}: {', '.join(same)}" if same else f"none is called {name!r}"
            )
            raise UnknownNameError(f"Of the entities of the asked facts, {fault}.")
        ids += same
    return ids
