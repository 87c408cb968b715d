"""Run of rounds: its outcomes, beliefs and finding."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.graph.client import Graph, Row
from kgprobe.probes.register import ProbeKind
from kgprobe.results.collected import CollectedAnswers, outcomes_frame
from kgprobe.results.measurement import StoredAnswers
from kgprobe.running.learner import COUNTS
from kgprobe.running.rounds import RunReport
from kgprobe.running.store import FILE, Outcomes

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.results.finding import About, Finding


# Properties of runs in lists.
RUN_COLUMNS = (
    *("id", "model", "probe", "round", "rounds", "facts_per_round", "asked", "unaskable", "unanswered"),
    *("sampling", "learner", "stop_at_width", "seed", "as_of", "started"),
)


@dataclass(frozen=True, slots=True, repr=False)
class Run(StoredAnswers):
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
    _collected: dict[int, CollectedAnswers] = field(default_factory=dict, init=False, compare=False)

    @property
    def about(self) -> "About":
        """Its origin: model, probe and settings."""
        from kgprobe.results.finding import about_run

        return about_run(self.properties)

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of all rounds, in the order of asking; read from disk."""
        count = sum(self.properties[name] for name in COUNTS)
        return Outcomes(self.folder / FILE, self.kind.evidence(), count)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each fact that has answers, by id: labels, own answers, known, interval, belief.

        The columns are those of ``facts.csv``, and those of the latest question: see
        :class:`kgprobe.results.finding.Finding`. :meth:`answers_frame` has a row for each question.

        Raises:
            KgprobeError: the run has no answers.

        Cost: one pass over the answers, and a walk from each subject.
        """
        from kgprobe.results.finding import make_finding

        return make_finding(self.graph, self.about, self._answers(), year_relation=self.year_relation).facts

    def answers_frame(self) -> "pd.DataFrame":
        """Return one row for each question, in the order of asking, with right answer, prediction and verdict.

        :meth:`to_frame` has one row for each fact.
        """
        return outcomes_frame(self.outcomes)

    def summary(self) -> str:
        """Return the result in a few lines."""
        title = f"run {self.name}, {self.asked_by}, {self.model}, {self.report.rounds} rounds"
        summary = self._summary(title, self.report.stopped)
        return "\n".join(filter(None, [summary, self.about.caveat]))

    def to_dict(self, finding: "Finding | None" = None) -> dict[str, Any]:
        """Return progress and finding, with stable keys: the content of ``results.json``.

        Args:
            finding: the finding, if it is available already; None computes it if there are answers.
        """
        report = self.report
        return {
            "run": self.name,
            "facts": report.facts,
            "questions": report.asked,
            "stopped": report.stopped.value,
            "reason": report.reason,
            "seconds": round(report.seconds, 3),
            **StoredAnswers.to_dict(self, finding),
            "rounds": report.rounds,
        }

    def finding(self) -> "Finding":
        """Return rates over the graph, by relation, entity, type and year, and the facts most surely known and unknown.

        Raises:
            KgprobeError: the run has no answers yet.
        """
        from kgprobe.results.finding import make_finding
        from kgprobe.results.graph_rates import estimate_run

        return make_finding(
            self.graph,
            self.about,
            self._answers(),
            over_graph=estimate_run(self.graph, self.name, year_relation=self.year_relation),
            year_relation=self.year_relation,
        )
