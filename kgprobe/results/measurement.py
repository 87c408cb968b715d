"""Measurement (each fact is asked once) and run of rounds: their outcomes, beliefs and findings."""

import shutil
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.answers.settings import (
    LAST_CHANGES,
    MEASUREMENT,
    note_of_dates,
    read_config,
    read_declined,
    read_device_time,
    read_measurement,
)
from kgprobe.answers.store import FILE, Outcomes
from kgprobe.base.arguments import several
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import make_folder
from kgprobe.base.tables import Table
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_ids
from kgprobe.graph.reversal import reversal_of
from kgprobe.graph.runs import latest_run, run_folder
from kgprobe.graph.state import graph_state, last_changes
from kgprobe.models.model import Model
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.register import PROBES, ProbeContext, ProbeKind
from kgprobe.results.result import write_frame
from kgprobe.running.learner import COUNTS
from kgprobe.running.measurement import Progress, check_helpers, check_name, keep_answers
from kgprobe.running.plan import Asking, plan_of
from kgprobe.running.rounds import RunReport, settle_run
from kgprobe.running.runs import get_run
from kgprobe.sampling.drawing import Draw
from kgprobe.sampling.selection import checked_draw, choose_facts, list_existing
from kgprobe.sampling.years import year_relation_id
from kgprobe.verbalize.language import language_of

if TYPE_CHECKING:
    import pandas as pd

    from kgprobe.answers.table import Answers
    from kgprobe.results.about import About
    from kgprobe.results.fact_list import FactList
    from kgprobe.results.finding import Finding

# Words for questions that do not count.
_SILENT = {Verdict.UNASKABLE: "could not be asked", Verdict.UNANSWERED: "got no answer"}


class DatasetConfig(msgspec.Struct, frozen=True):
    """The data set of a measurement.

    Attributes:
        relations: labels of the relations by id.
    """

    name: str
    relations: dict[str, str]


class StoredAnswers:
    """Base of measurements and runs: answers on disk, which are read once for all summaries and pages.

    Attributes:
        folder: folder of its answers.
        kind: the probe.
        graph: the graph; None if a measurement was opened without it.
    """

    __slots__ = ()
    folder: Path
    kind: ProbeKind
    graph: Graph | None
    _answers: dict[int, "Answers"]

    @property
    def about(self) -> "About":
        """Its origin: model, probe and settings."""
        raise NotImplementedError

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes in the order of asking; read from disk."""
        raise NotImplementedError

    @property
    def answers(self) -> "Answers":
        """The answers as a table, from which all results are computed; read again only after they have grown.

        >>> result.answers.by_fact()[["relation", "right", "wrong"]].head(2)  # doctest: +SKIP
        """
        from kgprobe.answers.table import read_answers

        path = self.folder / FILE
        size = path.stat().st_size if path.exists() else 0
        if size not in self._answers:
            self._answers.clear()
            outcomes = self.outcomes
            self._answers[size] = read_answers(self.folder, self.kind, self.about.described, outcomes.count)
        return self._answers[size]

    @property
    def model(self) -> str:
        """Spec of the model, as the user wrote it."""
        return self.about.model

    @property
    def reversed(self) -> bool:
        """True if an inverse graph was used: facts are asked from object to subject."""
        return self.about.reversed

    @property
    def asked_by(self) -> str:
        """Name of the probe, with the direction if it is backwards."""
        return self.about.asked_by

    def tables(self) -> list[Table]:
        """Return the probe's tables of its outcomes."""
        return list(self.answers.results.tables)

    def reasons(self, verdict: Verdict) -> dict[str, int]:
        """Return the reasons why facts have no answer, the most frequent first.

        Args:
            verdict: ``UNASKABLE`` or ``UNANSWERED``.
        """
        return self.answers.reasons(verdict)

    def finding(self) -> "Finding":
        """Return rates by relation, entity, type and year, the facts behind them, and the probe's tables."""
        raise NotImplementedError

    def facts(self, *, known: bool | None = None, about: Sequence[str] = ()) -> "FactList":
        """Return the asked facts with the probability that the model knows them; one row for each fact.

        >>> [row["subject_label"] for row in run.facts(known=False).rows()]  # doctest: +SKIP
        ['South Africa', 'Zimbabwe']

        Args:
            known: False for the unknown facts, the surest first; True for the known ones; None for both, the least
                known first.
            about: entities, given by id or name, that are the subject or the object; empty for all.

        Raises:
            UnknownNameError: an entity is unknown.
            KgprobeError: there are no answers, or no graph.
        """
        from kgprobe.results.fact_list import make_fact_list

        return make_fact_list(self.about.name, self._facts(), self.graph, known=known, about=several("about", about))

    def _facts(self) -> "pd.DataFrame":
        """Return the facts of the finding."""
        raise NotImplementedError

    def page(self, finding: "Finding | None" = None) -> Path:
        """Write the finding next to the answers as a page, JSON and CSV; return the page's path."""
        from kgprobe.results.finding_page import write_finding

        finding = finding or self.finding()
        return write_finding(finding, self.to_dict(finding), self.folder)

    def summary(self) -> str:
        """Return the result in a few lines."""
        raise NotImplementedError

    def to_dict(self, finding: "Finding | None" = None) -> dict[str, Any]:
        """Return progress and finding, with stable keys: the content of ``results.json``."""
        answers = self.answers
        if finding is None and answers.answered:
            finding = self.finding()
        content = {
            "model": self.model,
            "probe": self.kind.name,
            "reversed": self.reversed,
            "unaskable": answers.reasons(Verdict.UNASKABLE),
            "unanswered": answers.reasons(Verdict.UNANSWERED),
            "tables": {table.key: table.to_dict() for table in self.tables()},
            "device_waited": read_device_time(self.folder).waited,
        }
        return content if finding is None else {**content, **finding.to_dict()}

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows in pandas."""
        raise NotImplementedError

    def write_csv(self, path: Path) -> None:
        """Write the rows as CSV for spreadsheets, replacing a file.

        Raises:
            KgprobeError: it cannot be written.
        """
        write_frame(self.to_frame(), path)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from kgprobe.results.rendering.page import tables_html

        return tables_html(self.summary(), self.tables())

    def _summary(self, title: str, stopped: Stop) -> str:
        """Return a summary in a few lines."""
        from kgprobe.results.rendering.tables import shown

        answers = self.answers
        tables, headline = answers.results
        first = f"{title}: {answers.verdicts.total():,} asked"
        lines = [f"{first}{_share_right(answers)}"] if headline is None else [f"{first}, {headline}", headline.details]
        for verdict, words in _SILENT.items():
            if answers.verdicts[verdict]:
                lines.append(f"{answers.verdicts[verdict]:,} {words}")
        if headline is None and tables and tables[0].rows:
            last = tables[0].rows[-1].items()
            lines.append("; ".join(f"{name} {shown(value)}" for name, value in last if value is not None))
        if stopped.can_go_on:
            lines.append(f"stopped early: {stopped.value}; repeat the call to resume")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class Measurement(StoredAnswers):
    """A measurement: the asked facts, its progress, and its outcomes.

    Attributes:
        config: all settings that the answers depend on.
        progress: counts of asked facts, and the reason for which it stopped.
        missing: messages about listed facts that are not in the graph.
        graph: the graph; None if the measurement was opened without it, or is of a data set.
        notes: sentences on facts that the draw left out.
    """

    folder: Path
    kind: ProbeKind
    config: Mapping[str, Any]
    progress: Progress
    missing: Sequence[str] = ()
    graph: Graph | None = None
    notes: Sequence[str] = ()
    _answers: "dict[int, Answers]" = field(default_factory=dict, init=False, compare=False)

    @property
    def about(self) -> "About":
        """Its origin: model, probe and settings."""
        from kgprobe.results.about import About

        return About(
            name=self.folder.name,
            model=str(self.config["described"]["model"]),
            probe=self.kind.name,
            declined=read_declined(self.folder),
            ask_in=self.config.get("ask_in"),
            **{name: self.config[name] for name in ("as_of", "seed", "described", "versions", "reversed")},
        )

    @property
    def dataset(self) -> DatasetConfig | None:
        """The data set that was asked; None for a graph."""
        return msgspec.convert(self.config["dataset"], DatasetConfig) if "dataset" in self.config else None

    @property
    def outcomes(self) -> Outcomes:
        """One outcome for each fact, in the order of the facts; read from disk."""
        return Outcomes(self.folder / FILE, self.kind.evidence())

    @property
    def complete(self) -> bool:
        """True if every fact was asked."""
        return self.progress.done == self.progress.facts

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each fact: question, right answer, prediction, and probability of the right answer.

        >>> result.to_frame()[["relation", "verdict", "right_answer"]].head(2)  # doctest: +SKIP
        """
        return self.answers.frame()

    def summary(self) -> str:
        """Return the result in a few lines."""
        return self._summary(f"{self.asked_by}, {self.model}", self.progress.stopped)

    def to_dict(self, finding: "Finding | None" = None) -> dict[str, Any]:
        """Return progress and finding; see :meth:`StoredAnswers.to_dict`."""
        return {
            "facts": self.progress.facts,
            "done": self.progress.done,
            "stopped": self.progress.stopped.value,
            "not_in_graph": len(self.missing),
            # A class with slots is a copy of the class in which `super()` would look.
            **StoredAnswers.to_dict(self, finding),
        }

    def finding(self, *, year_relation: str | None = None) -> "Finding":
        """Return rates by relation, entity, type and year, the facts behind them, and the probe's tables.

        Needs the open graph, except for a data set, whose facts have neither types nor years.

        Args:
            year_relation: as in :func:`kgprobe.run_rounds`.

        Raises:
            KgprobeError: nothing was answered, or the measurement was opened without a graph.
        """
        from kgprobe.results.finding import make_finding

        if self.dataset is not None:
            return make_finding(self.dataset.relations, self.about, self.answers)
        if self.graph is None:
            raise KgprobeError("A finding needs the graph for names and types: kgprobe.open(name, `graph`).")
        years = year_relation_id(self.graph, year_relation)
        return make_finding(self.graph, self.about, self.answers, year_relation=years)

    def _facts(self) -> "pd.DataFrame":
        return self.finding().facts

    def export(self) -> list[Path]:
        """Write the probe's exports, such as every plausibility as Parquet; return their paths."""
        paths = []
        for name, export in self.kind.exports().items():
            path = self.folder / name
            paths.append(path)
            if not path.exists():
                with export(path) as add:
                    deque(map(add, self.outcomes), maxlen=0)
        return paths

    def save(self, folder: str | Path) -> Path:
        """Copy answers (also as CSV), configuration, finding and page into a folder.

        Raises:
            KgprobeError: it cannot be written.
        """
        target = Path(folder)
        make_folder(target)
        self.export()
        if (self.graph is not None or self.dataset is not None) and self.progress.done:
            self.page()
        try:
            for file in self.folder.iterdir():
                if file.name != "lock":
                    shutil.copy2(file, target / file.name)
        except OSError as error:
            raise KgprobeError(f"{target} cannot be written: {error.strerror or error}.") from error
        self.write_csv(target / "answers.csv")
        return target


@dataclass(frozen=True, slots=True, repr=False)
class Run(StoredAnswers):
    """A run of rounds.

    Attributes:
        name: id of the run.
        report: its progress, and the reason for its end.
        properties: properties of the run's node.
        year_relation: relation that gives a fact's year, or ``start``; None chooses, see :mod:`kgprobe.sampling.years`.
    """

    name: str
    report: RunReport
    folder: Path
    kind: ProbeKind
    properties: Row
    year_relation: str | None
    graph: Graph
    _answers: "dict[int, Answers]" = field(default_factory=dict, init=False, compare=False)

    @property
    def about(self) -> "About":
        """Its origin: model, probe and settings."""
        from kgprobe.results.about import about_run

        return replace(about_run(self.properties), declined=read_declined(self.folder))

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

        return make_finding(self.graph, self.about, self.answers, year_relation=self.year_relation).facts

    def _facts(self) -> "pd.DataFrame":
        return self.to_frame()

    def answers_frame(self) -> "pd.DataFrame":
        """Return one row for each question, in the order of asking, with right answer, prediction and verdict.

        :meth:`to_frame` has one row for each fact.
        """
        return self.answers.frame()

    def summary(self) -> str:
        """Return the result in a few lines."""
        title = f"run {self.name}, {self.asked_by}, {self.model}, {self.report.rounds} rounds"
        summary = self._summary(title, self.report.stopped)
        return "\n".join(filter(None, [summary, self.about.caveat]))

    def to_dict(self, finding: "Finding | None" = None) -> dict[str, Any]:
        """Return progress and finding; see :meth:`StoredAnswers.to_dict`."""
        report = self.report
        return {
            "run": self.name,
            "graph": self.properties["graph"],
            "facts": report.facts,
            "questions": report.asked,
            "stopped": report.stopped.value,
            "reason": report.reason,
            "seconds": round(report.seconds, 3),
            **StoredAnswers.to_dict(self, finding),
            "rounds": report.rounds,
            "plan": asdict(plan_of(self.properties).options),
        }

    def finding(self) -> "Finding":
        """Return rates over the graph, by relation, entity, type and year, and the facts most surely known and unknown.

        Raises:
            KgprobeError: the run has no answers yet.
        """
        from kgprobe.results.finding import make_finding
        from kgprobe.results.graph_rates import estimate_run, frame_notes

        rates = estimate_run(self.graph, self.name, year_relation=self.year_relation)
        # The asked facts have their years from the source that was chosen for the graph.
        source = None if rates is None else rates.year_source
        years = self.year_relation if source is None else source.relation
        notes = frame_notes(self.graph, self.properties) if rates is None else rates.notes
        about = replace(self.about, notes=notes)
        return make_finding(self.graph, about, self.answers, over_graph=rates, year_relation=years)


def measure_facts(
    graph: Graph, model: Model | str, probe: str, draw: Draw, asking: Asking, options: Mapping[str, Any]
) -> Measurement:
    """Ask a model about facts of a graph, once each, and keep the answers; see :func:`kgprobe.measure`."""
    kind = PROBES.get(probe)
    chosen_options = kind.options_from(options)
    draw, asking = checked_draw(draw, "measure"), asking.checked()
    # Validate what needs neither the graph nor a loaded model first.
    asked = asking.models.open_asked(model)
    check_helpers(asking.models, asked, options)
    check_name(asking.name, kind, chosen_options, draw.seed, asked)
    relations = relation_ids(graph, draw.relations)
    listed = None if draw.facts is None else list_existing(graph, draw.facts, draw.as_of)
    # Opens the graph, which may lack the language, before the model is loaded.
    language = graph.language
    asked.refresh()
    made_probe = kind.make(ProbeContext(graph, asked, asking.models, draw.as_of, relations), chosen_options)
    chosen = choose_facts(
        graph, made_probe.relations, as_of=draw.as_of, listed=listed, limit=draw.limit, seed=draw.seed, draw=draw
    )
    reversal = reversal_of(graph)
    settings = {
        "facts": chosen.identity,
        "as_of": draw.as_of,
        "graph": graph_state(graph),
        LAST_CHANGES: last_changes(graph, draw.as_of),
        "reversed": reversal is not None,
        "reversed_of": None if reversal is None else reversal.of,
        **({} if language is None else {"ask_in": language}),
    }
    folder, progress = keep_answers(made_probe, kind, chosen_options, chosen.keys, draw.seed, settings, asked, asking)
    stored = read_config(folder, MEASUREMENT)
    notes = [*chosen.notes, *filter(None, [note_of_dates([stored, settings]), language_of(language).note])]
    return Measurement(folder, kind, stored, progress, chosen.missing, graph, notes)


def measure_to_the_end(
    graph: Graph, model: Model | str, probe: str, callbacks: Callbacks, title: str = "", **arguments: Any
) -> Measurement:
    """Measure to the end, with the arguments of :func:`kgprobe.measure`; raise KgprobeError if it is interrupted."""
    drawing = {field.name: arguments.pop(field.name) for field in fields(Draw) if field.name in arguments}
    own = {field.name: arguments.pop(field.name) for field in fields(Asking) if field.name in arguments}
    asking = Asking(**own, callbacks=callbacks.titled(title))
    return to_the_end(measure_facts(graph, model, probe, Draw(**drawing), asking, arguments), title)


def to_the_end(measurement: Measurement, title: str = "") -> Measurement:
    """Return a complete measurement; raise KgprobeError if it was interrupted."""
    progress = measurement.progress
    answered = progress.done - progress.unanswered
    if not measurement.complete or answered == 0 < progress.facts:
        of = f" of {title}" if title else ""
        reason = f" {progress.reason}" if progress.reason else ""
        raise KgprobeError(
            f"Stopped after {answered:,} of {progress.facts:,} facts{of}; repeat the call to resume.{reason}"
        )
    return measurement


def open_measurement(folder: Path, graph: Graph | None = None) -> Measurement:
    """Open the measurement in a folder.

    Args:
        graph: its graph, for findings; that of a data set needs none.
    """
    from kgprobe.answers.table import read_answers

    config = read_measurement(folder)
    kind = PROBES.get(config["probe"])
    verdicts = read_answers(folder, kind, config["described"]).verdicts
    done, unanswered = verdicts.total(), verdicts[Verdict.UNANSWERED]
    graph = None if "dataset" in config or graph is None else graph.in_language(config.get("ask_in"))
    return Measurement(folder, kind, config, Progress(done, done, unanswered, Stop.DONE), (), graph)


def open_run(graph: Graph, run: str | None = None, *, year_relation: str | None = None) -> Run:
    """Open a run; the model is not loaded. If its process was killed, its last beliefs are written first.

    >>> run = kgprobe.run_rounds(graph, "demo", rounds=1, facts_per_round=3, distractors=3, name="to-look-at")
    >>> kgprobe.open("to-look-at", graph).finding().asked
    3

    Args:
        run: name of the run; None is the latest.
        year_relation: as in :func:`run_rounds`.

    Raises:
        UnknownNameError: no such run or relation, or the graph has no runs.
        KgprobeError: the run was not started by kgprobe.
    """
    year_relation = year_relation_id(graph, year_relation)
    run = run or latest_run(graph)
    settle_run(graph, run)
    properties = get_run(graph, run)
    done = properties["round"] >= properties["rounds"]
    counts = {name: properties[name] for name in ("asked", "unaskable", "unanswered")}
    stopped = Stop.DONE if done else Stop.ASKED_TO
    report = RunReport(run, None, properties["round"], seconds=0.0, stopped=stopped, **counts)
    return run_of(graph, run, report, year_relation)


def run_of(graph: Graph, name: str, report: RunReport, year_relation: str | None) -> Run:
    """Return a run of a graph with its progress."""
    properties = get_run(graph, name)
    kind = PROBES.get(properties["probe"])
    graph = graph.in_language(properties.get("ask_in"))
    return Run(name, report, run_folder(properties), kind, properties, year_relation, graph)


def _share_right(answers: "Answers") -> str:
    """Return the share of right answers and the chance level, as the end of a sentence; empty without answers."""
    from kgprobe.stats.proportions import share

    if not answers.answered:
        return ""
    chance = "" if answers.chance is None else f", by chance {answers.chance:.0%}"
    return f", {share(answers.verdicts[Verdict.RIGHT], answers.answered)} right{chance}"
