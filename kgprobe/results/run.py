"""Run of rounds: its outcomes, beliefs and finding."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kgprobe.analysis.rates import caveat_of
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import asked_by
from kgprobe.probes.register import ProbeKind
from kgprobe.results.measurement import OutcomeDigest, digest_outcomes, outcomes_frame, summary_of, write_finding
from kgprobe.running.applying import COUNTS
from kgprobe.running.rounds import RunReport
from kgprobe.running.store import FILE, Outcomes
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.analysis.finding import Finding
    from kgprobe.analysis.graph_rates import GraphRates


# Properties of runs in lists.
RUN_COLUMNS = (
    *("id", "model", "probe", "round", "rounds", "batch", "asked", "unaskable", "unanswered"),
    *("sampling", "learner", "width", "seed", "as_of", "started"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """A run of rounds.

    Attributes:
        name: id of the run.
        report: its progress, and the reason for its end.
        folder: folder of its answers.
        kind: the probe.
        properties: properties of the run's node.
        year_relation: relation that gives a fact's year; None takes the start of the fact.
        graph: the graph.
    """

    name: str
    report: RunReport
    folder: Path
    kind: ProbeKind
    properties: Row
    year_relation: str | None
    graph: Graph

    @property
    def model(self) -> str:
        """Spec of the model, as the user wrote it."""
        return str(self.properties["model"])

    @property
    def reversed(self) -> bool:
        """True if an inverse graph was used: facts are asked from object to subject."""
        return bool(self.properties["reversed"])

    @property
    def asked_by(self) -> str:
        """Name of the probe, with the direction if it is backwards."""
        return asked_by(self.kind.name, self.reversed)

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of all rounds, in the order of asking; read from disk."""
        count = sum(self.properties[name] for name in COUNTS)
        return Outcomes(self.folder / FILE, self.kind.evidence(), count)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each fact that has answers, by id: labels, own answers, E[theta], interval, belief.

        The columns are those of ``facts.csv``, and those of the latest question: see
        :func:`kgprobe.analysis.examined.asked_facts`. :meth:`answers_frame` has a row for each question.

        Raises:
            KgprobeError: the run has no answers.

        Cost: one pass over the answers, and a walk from each subject.
        """
        from kgprobe.analysis.examined import asked_facts

        return asked_facts(self._find().facts, self.outcomes, self.kind.alternatives)

    def answers_frame(self) -> "pd.DataFrame":
        """Return one row for each question, in the order of asking, with right answer, prediction and verdict.

        :meth:`to_frame` has one row for each fact.
        """
        return outcomes_frame(self.outcomes)

    def tables(self) -> list[Table]:
        """Return the probe's tables of its outcomes."""
        return list(self._digest().results.tables)

    def summary(self) -> str:
        """Return the result in a few lines."""
        title = f"run {self.name}, {self.asked_by}, {self.model}, {self.report.rounds} rounds"
        caveat = caveat_of(self.properties["sampling"])
        summary = summary_of(title, self._digest(), self.report.stopped)
        return summary if caveat is None else f"{summary}\n{caveat}"

    def _digest(self) -> OutcomeDigest:
        """Return the digest of the stored outcomes."""
        return digest_outcomes(self.kind, self.outcomes, msgspec.json.decode(self.properties["config"]))

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html(self.summary(), self.tables())

    def finding(self) -> "Finding":
        """Return rates over the graph, by relation, entity, type and year, and the facts most surely known and unknown.

        Raises:
            KgprobeError: the run has no answers yet.
        """
        from kgprobe.analysis.graph_rates import estimate_run

        rates = estimate_run(self.graph, self.name, year_relation=self.year_relation)
        return self._find(None if rates.overall is None else rates)

    def page(self, finding: "Finding | None" = None) -> Path:
        """Write the finding next to the answers as a page, JSON and CSV; return the page's path.

        Args:
            finding: the finding, if it is available already; None computes it.
        """
        return write_finding(finding or self.finding(), self.folder, self.outcomes, self.kind, self.graph)

    def _find(self, over_graph: "GraphRates | None" = None) -> "Finding":
        from kgprobe.analysis.make_finding import find_in_run

        return find_in_run(
            self.graph,
            self.name,
            lambda: self.outcomes,
            over_graph=over_graph,
            year_relation=self.year_relation,
        )
