"""Measurement: facts that were each asked once, with its outcomes and finding."""

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgprobe.errors import KgprobeError
from kgprobe.files import make_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import asked_by
from kgprobe.probes.outcome import Outcome, ProbeResults, Verdict, guessing_chance
from kgprobe.probes.register import ProbeKind
from kgprobe.running.callbacks import Stop
from kgprobe.running.measurement import Progress
from kgprobe.running.store import FILE, Outcomes
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.tables import Table

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.analysis.finding import Finding


PAGE = "finding.html"


@dataclass(frozen=True, slots=True, repr=False)
class Measurement:
    """A measurement: the asked facts, its progress, and its outcomes.

    Attributes:
        folder: folder of its answers.
        kind: the probe.
        config: all settings that the answers depend on.
        progress: counts of asked facts, and the reason for which it stopped.
        missing: messages about listed facts that are not in the graph.
        graph: the graph; None if the measurement was opened without it.
    """

    folder: Path
    kind: ProbeKind
    config: Mapping[str, Any]
    progress: Progress
    missing: Sequence[str] = ()
    graph: Graph | None = None
    _digests: dict[int, "OutcomeDigest"] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def outcomes(self) -> Outcomes:
        """One outcome for each fact, in the order of the facts; read from disk."""
        return Outcomes(self.folder / FILE, self.kind.evidence())

    @property
    def model(self) -> str:
        """Spec of the model, as the user wrote it."""
        return str(self.config["described"]["model"])

    @property
    def reversed(self) -> bool:
        """True if an inverse graph was used: facts are asked from object to subject."""
        return bool(self.config["reversed"])

    @property
    def asked_by(self) -> str:
        """Name of the probe, with the direction if it is backwards."""
        return asked_by(self.kind.name, self.reversed)

    @property
    def complete(self) -> bool:
        """True if every fact was asked."""
        return self.progress.done == self.progress.facts

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each fact: question, right answer, prediction, and probability of the right answer.

        >>> result.to_frame()[["relation", "verdict", "right_answer"]].head(2)  # doctest: +SKIP
        """
        return outcomes_frame(self.outcomes)

    def tables(self) -> list[Table]:
        """Return the probe's tables of its outcomes."""
        return list(self._digest().results.tables)

    def reasons(self, verdict: Verdict) -> dict[str, int]:
        """Return the reasons why facts have no answer, the most frequent first.

        Args:
            verdict: ``UNASKABLE`` or ``UNANSWERED``.
        """
        return dict(self._digest().reasons[verdict].most_common())

    def summary(self) -> str:
        """Return the result in a few lines."""
        title = f"{self.asked_by}, {self.model}"
        return summary_of(title, self._digest(), self.progress.stopped)

    def _digest(self) -> "OutcomeDigest":
        """Return the digest of the stored outcomes, which is computed again only after the file has grown."""
        path = self.folder / FILE
        size = path.stat().st_size if path.exists() else 0
        if size not in self._digests:
            self._digests.clear()
            self._digests[size] = digest_outcomes(self.kind, self.outcomes, self.config["described"])
        return self._digests[size]

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.report.notebook import tables_html

        return tables_html(self.summary(), self.tables())

    def finding(self, *, year_relation: str | None = None) -> "Finding":
        """Return rates by relation, entity, type and year, the facts behind them, and the probe's tables.

        Needs the open graph.

        Raises:
            KgprobeError: nothing was answered, or the measurement was opened without a graph.
        """
        from kgprobe.analysis.finding import About
        from kgprobe.analysis.make_finding import find_in_outcomes

        if self.graph is None:
            raise KgprobeError("A finding needs the graph for names and types: open_measurement(folder, `graph`).")
        about = About(
            name=self.folder.name,
            model=self.model,
            probe=self.kind.name,
            as_of=int(self.config["as_of"]),
            seed=int(self.config["seed"]),
            described=self.config["described"],
            versions=self.config["versions"],
            reversed=self.reversed,
        )
        years = None if year_relation is None else relation_ids(self.graph, [year_relation])[0]
        return find_in_outcomes(self.graph, about, lambda: self.outcomes, year_relation=years)

    def page(self, finding: "Finding | None" = None) -> Path:
        """Write the finding next to the answers as a page, JSON and CSV; return the page's path.

        Args:
            finding: the finding, if it is available already; None computes it.
        """
        return write_finding(finding or self.finding(), self.folder, self.outcomes, self.kind, self.graph)

    def export(self) -> list[Path]:
        """Write the probe's exports, such as every plausibility as Parquet; return their paths."""
        paths = []
        for name, write in self.kind.exports().items():
            path = self.folder / name
            if not path.exists():
                write(self.outcomes, path)
            paths.append(path)
        return paths

    def save(self, folder: str | Path) -> Path:
        """Copy answers (also as CSV), configuration, finding and page into a folder.

        Raises:
            KgprobeError: it cannot be written.
        """
        target = Path(folder)
        make_folder(target)
        if self.graph is not None and self.progress.done:
            self.page()
        self.export()
        try:
            for file in self.folder.iterdir():
                if file.name != "lock":
                    shutil.copy2(file, target / file.name)
            self.to_frame().map(spreadsheet_cell).to_csv(target / "answers.csv", index=False)
        except OSError as error:
            raise KgprobeError(f"{target} cannot be written: {error.strerror or error}.") from error
        return target


def write_finding(finding: "Finding", folder: Path, outcomes: Outcomes, kind: ProbeKind, graph: Graph | None) -> Path:
    """Write a finding into a folder: page, ``results.json``, ``facts.csv`` and ``groups.csv``; return the page's path.

    Args:
        outcomes, kind, graph: source of the list of asked facts.

    Raises:
        KgprobeError: a file cannot be written.
    """
    from kgprobe.analysis.examined import examine
    from kgprobe.results.finding import write_finding_files
    from kgprobe.results.finding_page import write_result_page

    write_finding_files(finding, folder)
    examined = examine(graph, finding.about.name, finding, outcomes, kind.alternatives)
    return write_result_page(examined, folder / PAGE)


def outcomes_frame(outcomes: "Outcomes") -> "pd.DataFrame":
    """Return outcomes in pandas, one row for each question."""
    import pandas as pd

    columns = ("question", "right_answer", "prediction", "probability", "chance")
    rows = [
        {
            "subject": outcome.fact.subject,
            "fact": outcome.fact.fact,
            "relation": outcome.relation,
            "verdict": outcome.verdict.value,
            **{name: getattr(outcome.evidence, name, None) for name in columns},
            "reason": outcome.reason,
            "prompt": outcome.prompt,
        }
        for outcome in outcomes
    ]
    names = ["subject", "fact", "relation", "verdict", *columns, "reason", "prompt"]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=names)
    return frame


@dataclass(slots=True)
class OutcomeDigest:
    """Counts and the probe's own results over outcomes, from one pass.

    Attributes:
        verdicts: number of outcomes by verdict.
        reasons: number of outcomes by verdict and reason.
        chances: known chance levels of the outcomes that count.
        results: the probe's own tables and headline.
    """

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    reasons: dict[Verdict, Counter[str]] = field(default_factory=lambda: {verdict: Counter() for verdict in Verdict})
    chances: list[float] = field(default_factory=list)
    results: ProbeResults = field(default_factory=ProbeResults)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        self.verdicts[outcome.verdict] += 1
        self.reasons[outcome.verdict][str(outcome.reason)] += 1
        chance = guessing_chance(outcome)
        if chance is not None:
            self.chances.append(chance)


def digest_outcomes(kind: ProbeKind, outcomes: Iterable[Outcome], described: Mapping[str, Any]) -> OutcomeDigest:
    """Return the digest of outcomes, which are read once."""
    digest = OutcomeDigest()
    digest.results = kind.results_of(outcomes, described, digest.add)
    return digest


def summary_of(title: str, digest: OutcomeDigest, stopped: Stop) -> str:
    """Return a summary of outcomes in a few lines."""
    verdicts, (tables, headline) = digest.verdicts, digest.results
    first = f"{title}: {verdicts.total():,} asked"
    lines = (
        [f"{first}{_share_right(verdicts, digest.chances)}"]
        if headline is None
        else [f"{first}, {headline}", headline.details]
    )
    for verdict, words in ((Verdict.UNASKABLE, "could not be asked"), (Verdict.UNANSWERED, "got no answer")):
        if verdicts[verdict]:
            lines.append(f"{verdicts[verdict]:,} {words}")
    if headline is None and tables and tables[0].rows:
        lines.append(_last_row(tables[0]))
    if stopped.can_go_on:
        lines.append(f"stopped early: {stopped.value}; repeat the call to resume")
    return "\n".join(lines)


def _share_right(verdicts: Mapping[Verdict, int], chances: Sequence[float]) -> str:
    """Return the share of right answers and the chance level, as the end of a sentence; empty without answers."""
    from kgprobe.stats.proportions import share

    answered = sum(count for verdict, count in verdicts.items() if verdict.counts)
    if not answered:
        return ""
    chance = f", by chance {sum(chances) / len(chances):.0%}" if chances else ""
    return f", {share(verdicts[Verdict.RIGHT], answered)} right{chance}"


def _last_row(table: Table) -> str:
    from kgprobe.report.cells import shown

    return "; ".join(f"{name} {shown(value)}" for name, value in table.rows[-1].items() if value is not None)
