"""Judged graph: figures of all facts, raw and corrected by labels."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean
from kgprobe.base.options import documented, make_options
from kgprobe.base.tables import ResultRow, Table
from kgprobe.graph.client import Graph
from kgprobe.judge import ALL_TYPES, FACTS, FigureOptions
from kgprobe.judge.correction import (
    ENOUGH,
    Correction,
    choose_labels,
    correct_by_labels,
    labelled_metrics,
    learned_facts,
)
from kgprobe.judge.graph_figures import (
    ARROW,
    AVERAGES,
    COLUMNS,
    HEAD_TYPE,
    METRICS,
    NO_TYPE,
    OBJECT_TYPE,
    OVERALL,
    RELATION,
    SUBJECT_TYPE,
    TAIL_TYPE,
    THIRD,
    TYPE_PAIR,
    GroupSums,
    WholeGraph,
    whole_graph,
)
from kgprobe.judge.judged_facts import JudgedGraphConfig, read_judged_graph, read_names, stream_judged_facts
from kgprobe.judge.judged_shards import JudgedShards, missing_shards
from kgprobe.judge.labels import TrueFalseLabels, read_labels
from kgprobe.judge.speed import Speed, read_speeds
from kgprobe.probes.statements.metrics import JUDGEMENTS
from kgprobe.results.measurement import Measurement
from kgprobe.results.result import Listing, Result
from kgprobe.stats.design_based import Estimate

# Groups of whole relations.
_RELATION_GROUPS = (HEAD_TYPE, TAIL_TYPE, TYPE_PAIR)
# Types that tables show.
TYPES = 20

_SPEED = "The same statements, read by the judge, and answered once in words as in the labels; without loading."
_UNKNOWN = "(popularity not known)"
# Fields of an estimate in a row.
_ESTIMATED = ("low", "high", "standard_error", "weight", "labelled", "labels_worth")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupFigure(ResultRow):
    """A metric of a group of facts.

    Attributes:
        by, group, name: kind of the group, its id, and its label.
        facts, measured: number of facts, and of facts with the metric.
        raw: mean by the judge alone; None without measured facts.
        estimate, low, high, standard_error, weight, labelled, labels_worth: the estimate corrected by labels; None if
            there are too few labels. See :class:`~kgprobe.stats.design_based.Estimate`.
    """

    by: str
    group: str | None
    name: str | None
    metric: str
    facts: int
    measured: int
    raw: float | None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    weight: float | None = None
    labelled: int | None = None
    labels_worth: float | None = None


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgedGraph(Result):
    """Figures of a judged graph; one row for each group and metric.

    Attributes:
        missing: numbers of the missing shards.
        graph: the judge's figures.
        correction: estimates corrected by labels; None without labels, or if shards are missing.
        names: labels of relations and types, by id.
        options: types and means of the groups.
        speeds: speeds of the judge and of answers in words; empty if they were not compared.
    """

    folder: Path
    config: JudgedGraphConfig
    missing: Sequence[int]
    graph: WholeGraph
    correction: Correction | None
    names: Mapping[str, str] = field(default_factory=dict)
    options: FigureOptions = ALL_TYPES
    speeds: Sequence[Speed] = ()

    def corrected_by(self, labels: Measurement) -> "JudgedGraph":
        """Return the figures corrected by other labels than the judge's own.

        Args:
            labels: measurement of the probe ``true-false`` on the same graph.

        Raises:
            ArgumentError: the labels are of another probe, graph, model, selection of facts, or of other negatives.

        Cost: one pass over all judged facts.
        """
        return read_figures(self.folder, read_labels(labels.folder), self.options)

    @documented(FigureOptions)
    def regrouped(self, **options: Any) -> "JudgedGraph":
        """Return the figures, corrected by the judge's own labels, with other types or means.

        >>> kgprobe.open("judged").regrouped(types_of="schema", mean_over="relations")  # doctest: +SKIP

        Raises:
            ArgumentError: no entity has a type of the vocabulary.

        Cost: one pass over all judged facts.
        """
        return read_figures(self.folder, options=make_options(FigureOptions, options, "regrouped"))

    def figures(self, group: GroupSums) -> list[GroupFigure]:
        """Return the metrics of a group."""
        estimates = self._estimates(group)
        name = self._label(group)
        figures = []
        for metric in METRICS:
            numbers: dict[str, Any] = {}
            if metric in estimates:
                estimate = estimates[metric]
                numbers = {"estimate": estimate.value} | {field: getattr(estimate, field) for field in _ESTIMATED}
            figures.append(
                GroupFigure(
                    by=group.by,
                    group=group.name,
                    name=name,
                    metric=metric,
                    facts=group.facts,
                    measured=group.measured,
                    raw=group.mean(metric),
                    **numbers,
                )
            )
        return figures

    def _label(self, group: GroupSums) -> str | None:
        """Return the label of a group's id, or of both types of a pair."""
        if group.by != TYPE_PAIR or group.name is None:
            return self.names.get(group.name or "", group.name)
        types = group.name.split(f" {ARROW} ")
        return f" {ARROW} ".join(self.names.get(type_, type_) for type_ in types)

    @property
    def group_figures(self) -> Annotated[Sequence[GroupFigure], Listing()]:
        """The judge's figure of each group and metric, and its corrected estimate if there is one."""
        return list(chain.from_iterable(map(self.figures, self.graph.groups)))

    def tables(self) -> list[Table]:
        """Return tables for all facts; by relation, type, popularity; correlations; judgements; left-out facts."""
        notes = [
            f"*judge* is the mean of the judge's predictions; *corrected* is estimated from these and from"
            f" labels, with a 95% interval, for groups of at least {ENOUGH} labelled facts."
        ]
        tables = [
            self._table("overall", "All facts", OVERALL, notes=notes),
            self._table("relations", "By relation", RELATION),
            self._table("subject_types", "By type of the subject", SUBJECT_TYPE, most=TYPES),
            self._table("object_types", "By type of the object", OBJECT_TYPE, most=TYPES),
            self._relation_types(),
            self._table("head_types", "By the relation's type of subject", HEAD_TYPE, most=TYPES),
            self._table("tail_types", "By the relation's type of object", TAIL_TYPE, most=TYPES),
            self._table("type_pairs", "By the relation's types of subject and object", TYPE_PAIR, most=TYPES),
            self._table("thirds", "By popularity of the subject", THIRD, unnamed=_UNKNOWN),
            self._correlations(),
            self._pearson(),
            self._judgements(),
            self._left_out(),
            Table("speed", "Speed", [speed.cells() for speed in self.speeds], [_SPEED]),
        ]
        return [table for table in tables if table.rows]

    def summary(self) -> str:
        """Return the correctness, truthfulness and informativeness of the model in a sentence."""
        whole = f"{self.config.judge.answers_of}, judged on {self.graph.facts:,} facts"
        if self.missing:
            whole += f" of {self.config.facts:,} ({len(self.missing):,} shards are missing)"
        figures = []
        for group in self.graph.groups[:1]:
            estimates = self._estimates(group)
            for metric in METRICS:
                raw = group.mean(metric)
                if metric in estimates:
                    figures.append(f"{metric} {estimates[metric]} (by the judge alone {raw:.3f})")
                elif raw is not None:
                    figures.append(f"{metric} {raw:.3f} by the judge alone")
        return f"{whole}: {', '.join(figures) or 'none could be measured'}."

    def to_dict(self) -> dict[str, Any]:
        """Return everything, with stable keys and all types."""
        names = (*JUDGEMENTS, "not_judged")
        correction = self.correction
        labels = None
        if correction is not None:
            labels = {"name": correction.labels}
            labels |= {name: getattr(correction, name) for name in ("asked", "used", "left_out", "partly")}
        return {
            "folder": str(self.folder),
            "complete": not self.missing,
            "missing_shards": list(self.missing),
            "config": msgspec.to_builtins(self.config),
            "facts": self.graph.facts,
            "options": asdict(self.options),
            "figures": self.rows(),
            "correlations": list(map(asdict, self.graph.correlations)),
            "pearson": list(map(asdict, self.graph.pearson)),
            "relation_types": list(map(asdict, self.graph.relation_types)),
            "judgements": {
                statements: dict(zip(names, counts, strict=True))
                for statements, counts in self.graph.judgements.items()
            },
            "not_measured": dict(self.graph.reasons),
            "speeds": list(map(asdict, self.speeds)),
            "labels": labels,
            "notes": list(self.notes),
        }

    def _estimates(self, group: GroupSums) -> Mapping[str, Estimate]:
        """Return the corrected estimates of a group by metric; empty if there are too few labels."""
        return {} if self.correction is None else self.correction.estimates.get((group.by, group.name), {})

    def _table(
        self,
        key: str,
        title: str,
        by: str,
        *,
        most: int | None = None,
        notes: Sequence[str] = (),
        unnamed: str = NO_TYPE,
    ) -> Table:
        groups = [group for group in self.graph.groups if group.by == by]
        heading = "of" if by == OVERALL else by
        unit = self.options.mean_over if by in _RELATION_GROUPS else FACTS
        rows: list[dict[str, Any]] = []
        for group in groups[:most]:
            figures = self.figures(group)
            first = {heading: figures[0].name or unnamed}
            means = {figure.metric: figure.raw for figure in figures}
            if by in _RELATION_GROUPS:
                means["average"] = group.average
            rows.append({**first, "by": "judge", unit: group.measured, **means})
            estimates = self._estimates(group)
            if estimates:
                shown = {metric: Mean(each.value, each.low, each.high) for metric, each in estimates.items()}
                rows.append({**first, "by": "corrected", "facts": figures[0].labelled, **shown})
        rest = len(groups) - len(groups[:most])
        more = [f"{rest:,} more are in the rows and in JSON."] if rest else []
        return Table(key, title, rows, [*notes, *more], groups_by=heading)

    def _correlations(self) -> Table:
        rows: dict[str, dict[str, Any]] = {}
        for each in self.graph.correlations:
            row = rows.setdefault(each.feature, {"with": each.feature.replace("_", "'s "), "facts": each.facts})
            row[each.metric] = each.value
        note = "Spearman's, of the judge's figures, not corrected; equal values have the mean of their ranks."
        return Table("correlations", "Rank correlations", list(rows.values()), [note])

    def _pearson(self) -> Table:
        """Return the correlations of metrics and averaged features, each with each."""
        values = {}
        for pair in self.graph.pearson:
            values[pair.first, pair.second] = values[pair.second, pair.first] = pair.value
        names = (*METRICS, *AVERAGES)
        rows = []
        for metric in names:
            cells = {name: 1.0 if metric == name else values.get((metric, name)) for name in names}
            rows.append({"of": metric, **cells})
        note = "Pearson's, of the judge's figures; degree and popularity are means of subject and object."
        return Table("pearson", "Correlations", rows if values else [], [note])

    def _relation_types(self) -> Table:
        """Return the types of each relation, up to as many relations as types are shown."""
        rows = []
        for relation in self.graph.relation_types[:TYPES]:
            ends = (relation.head or NO_TYPE, relation.tail or NO_TYPE)
            head, tail = (self.names.get(end, end) for end in ends)
            name = self.names.get(relation.relation, relation.relation)
            rows.append({"relation": name, "facts": relation.facts, "type of subject": head, "type of object": tail})
        rest = len(self.graph.relation_types) - len(rows)
        more = [f"{rest:,} more are in JSON."] if rest else []
        note = (
            "The most frequent type of the subjects, and of the objects, of a relation's facts; of equally frequent"
            " ones the most specific. In the tables below, *average* is the mean of the three metrics."
        )
        return Table("relation_types", "Types of the relations", rows, [note, *more])

    def _judgements(self) -> Table:
        rows = []
        for name, (*counts, not_judged) in self.graph.judgements.items():
            judged = sum(counts)
            shares = [count / judged if judged else None for count in counts]
            row = {"statements": name, "judged": judged, **dict(zip(JUDGEMENTS, shares, strict=True))}
            rows.append(row | {"not judged": not_judged})
        return Table("judgements", "Judgements of statements", rows)

    def _left_out(self) -> Table:
        counts = {"facts": self.graph.reasons}
        notes = []
        correction = self.correction
        if correction is not None:
            counts["labelled facts"] = correction.left_out
            notes.append(
                f"{correction.used:,} of {correction.asked:,} facts of {correction.labels} are used;"
                f" {correction.partly:,} of these have negatives without a label. Facts without a label may differ from"
                " others; the estimates do not account for that."
            )
        rows = []
        for of, reasons in counts.items():
            rows += [{"of": of, "number": count, "why": why} for why, count in reasons.items()]
        return Table("left_out", "Left out of the figures", rows, notes, groups_by="of")


def read_figures(
    folder: Path, labels: TrueFalseLabels | None = None, options: FigureOptions = ALL_TYPES
) -> JudgedGraph:
    """Return the figures of a judged graph.

    Args:
        labels: labels that correct them; None takes the judge's own if they exist.
        options: types and means of the groups.

    Raises:
        ArgumentError: the labels are not a sample of the judged facts.
        KgprobeError: no such judged graph, or a file is unreadable.
    """
    config = read_judged_graph(folder)
    missing = missing_shards(folder, range(config.shards))
    notes: list[str] = []
    labels = choose_labels(config, labels, notes)
    if missing:
        labels = None
        notes = [
            f"{len(missing):,} of {config.shards:,} shards are missing: figures are of the others only, and estimates"
            " for the graph are not possible."
        ]
    facts = [] if labels is None else labelled_metrics(labels.outcomes)
    present = sorted(set(range(config.shards)) - set(missing))
    graph = whole_graph(stream_judged_facts(folder, present, COLUMNS), [fact.fact for fact in facts], options)
    if not missing and graph.facts != config.facts:
        raise KgprobeError(f"{folder} has {graph.facts:,} facts; expected {config.facts:,}. Judge them again.")
    correction = None
    if labels is not None:
        learned = learned_facts(config, labels, facts, notes)
        correction = correct_by_labels(graph, labels.name, facts, learned)
    return JudgedGraph(
        folder=folder,
        config=config,
        missing=missing,
        graph=graph,
        correction=correction,
        names=read_names(folder),
        options=options,
        speeds=read_speeds(folder),
        notes=notes,
    )


def store_figures(graph: Graph, judged: JudgedGraph) -> None:
    """Write the figures of all facts and of each relation into the graph."""
    config = judged.config
    rows = []
    for group in judged.graph.groups:
        if group.by == RELATION:
            relation = _properties(judged.figures(group))
            rows.append({"relation": group.name, "properties": relation})
    properties = {
        "model": config.judge.answers_of,
        "judge": config.judge.digest,
        "as_of": config.settings.as_of,
        "seed": config.settings.seed,
        "labels": judged.correction.labels if judged.correction else None,
        "kept": datetime.now(tz=timezone.utc).isoformat(timespec="seconds"),
        **_properties(judged.figures(judged.graph.groups[0])),
    }
    graph.write("judge/keep", id=judged.folder.name, properties=properties, rows=rows)


def _properties(figures: Sequence[GroupFigure]) -> dict[str, Any]:
    properties: dict[str, Any] = {"facts": figures[0].facts, "measured": figures[0].measured}
    for figure in figures:
        properties |= {
            figure.metric: figure.raw if figure.estimate is None else figure.estimate,
            f"{figure.metric}_raw": figure.raw,
            f"{figure.metric}_low": figure.low,
            f"{figure.metric}_high": figure.high,
        }
    return properties


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class JudgingProgress(Result):
    """The judging of a graph: progress, and figures when all facts are judged.

    Attributes:
        shards: finished shards, including those of other processes.
        judged: figures; None until all facts are judged.
    """

    folder: Path
    shards: JudgedShards
    judged: JudgedGraph | None = None

    @property
    def group_figures(self) -> Annotated[Sequence[GroupFigure], Listing()]:
        """The figures of each group and metric; none until all facts are judged."""
        return self.judged.group_figures if self.judged else []

    def progress(self) -> str:
        """Return the number of judged facts."""
        return f"{self.shards.done:,} of {self.shards.facts:,} facts"

    def summary(self) -> str:
        """Return the figures in a sentence, or the progress."""
        return self.judged.summary() if self.judged else f"{self.progress()} are judged, in {self.folder}."

    def to_dict(self) -> dict[str, Any]:
        """Return the figures, or the progress."""
        shards = self.shards
        if self.judged is not None:
            return {**self.judged.to_dict(), "device_waited": shards.device_waited}
        progress = {"facts": shards.facts, "done": shards.done, "device_waited": shards.device_waited}
        return {"folder": str(self.folder), **progress, "complete": False}
