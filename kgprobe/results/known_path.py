"""Best known path between two entities, as a result."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, ClassVar

from kgprobe.base.intervals import Percent
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import Heading
from kgprobe.graph.client import Graph
from kgprobe.graph.known_path import find_known_path
from kgprobe.results.result import Listing, Result
from kgprobe.results.samples import FactIds


@dataclass(frozen=True, slots=True)
class PathRow(FactIds):
    """Fact of a path.

    Attributes:
        known: probability that the model knows it.
        belief: a word of the finding, or ``not asked``; then ``known`` is the expectation.
    """

    subject_label: Annotated[str, Heading("subject")]
    relation_label: Annotated[str, Heading("relation")]
    object_label: Annotated[str, Heading("object")]
    known: Annotated[float, Heading("known", Percent)]
    belief: Annotated[str, Heading("belief")]


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class KnownPath(Result):
    """Best known path between two entities; no rows if there is no path.

    Attributes:
        run: the run in view.
        one, other: ids of the entities.
        most_facts: maximum number of facts.
        facts: facts of the path, from one entity to the other.
    """

    run: str
    one: str
    other: str
    most_facts: int
    facts: Annotated[Sequence[PathRow], Listing("")]

    properties: ClassVar[Sequence[str]] = ("known",)

    @property
    def known(self) -> float | None:
        """Probability that the model knows the least known fact; None without a path."""
        return min((fact.known for fact in self.facts), default=None)

    def summary(self) -> str:
        """Return the number of facts and the least known of them."""
        if not self.facts:
            return (
                f"{self.one} and {self.other} are not connected by {counted(self.most_facts, 'fact')} or fewer that run"
                f" {self.run} can ask."
            )
        least = min(self.facts, key=lambda fact: fact.known)
        name = f"{least.subject_label} | {least.relation_label} | {least.object_label}"
        facts = counted(len(self.facts), "fact")
        return f"{facts} by run {self.run}; the least known one is known with {least.known:.1%}: {name}."


def best_path(graph: Graph, run: str, start: str, end: str, most_facts: int) -> KnownPath:
    """Return the best known path between two entities, by the beliefs of the run in view."""
    rows = []
    for fact in find_known_path(graph, start, end, most_facts):
        own = asdict(fact)
        rows.append(PathRow(known=1 - own.pop("theta"), **own))
    return KnownPath(run=run, one=start, other=end, most_facts=most_facts, facts=rows)
