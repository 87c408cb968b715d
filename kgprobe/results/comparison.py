"""Comparison of several models on the same facts: accuracy, correlation, subsumption and significance.

docs/methods/comparison.md. Accuracies by model and relation, the correlation of models over relations, and the
subsumption rate are defined in sections 4.2.1 and 4.2.2 of the paper on latent knowledge.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from kgprobe.answers.settings import note_of_dates
from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean, Percent, Points
from kgprobe.base.sanitize import counted
from kgprobe.base.tables import INTERNAL, Heading, ResultRow, Table
from kgprobe.beliefs.draw import credible_interval
from kgprobe.beliefs.summary import BeliefWord, belief_words
from kgprobe.probes.distractors.curves import mean_at, mean_curve
from kgprobe.results.answers import (
    Stored,
    change_note,
    collect_answers,
    differing_settings,
    graph_change,
    model_identity,
    settings_of,
)
from kgprobe.results.calibration import ComparedConfidence, compare_confidences
from kgprobe.results.finding_page import BarPart, matrix_section
from kgprobe.results.over_relations import (
    NO_FAMILIES,
    Averaged,
    OverRelations,
    averaged_models,
    matrix_rows,
    over_relations,
    single_models,
)
from kgprobe.results.refusals import RefusalChange, refusal_change
from kgprobe.results.rendering.packed_facts import ResultFacts, pack_facts
from kgprobe.results.rendering.page import RESULT_SCRIPTS, Section, settings_section, table_section, write_page
from kgprobe.results.result import Listing, StoredResult, change_in_words, points, read_frame
from kgprobe.results.shared_facts import Bools, ComparedModel, Floats, SharedFacts, side_by_side
from kgprobe.results.two_ways import TwoWays, compare_ways, official_languages
from kgprobe.stats.paired_proportions import SIGNIFICANCE, detectable_difference, loss_interval, mcnemar

# Fewer relations have no correlation.
_CORRELATED = 3
# Models that a title names with their shares.
_IN_TITLE = 3
_SMALLEST_P = 0.0005
_BY_RELATION = "Differences by relation"


@dataclass(frozen=True, slots=True)
class RelationAccuracy(ResultRow):
    """Accuracies of all models in one relation, in the order of the models."""

    relation: str
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    mean: Annotated[float, Heading("mean", Percent)]
    accuracy: Sequence[float]


@dataclass(frozen=True, slots=True)
class RelationDifference(ResultRow):
    """Two models on the facts of one relation.

    Attributes:
        first, second: their accuracies.
        difference: accuracy of the second less that of the first, with Tango's 95% interval.
        lost, gained: numbers of facts that only the first, and only the second, model has right.
        p: p-value of McNemar's exact test, two-sided.
        adjusted_p: the same after Benjamini and Hochberg, over the relations of these two models.
        better: the significantly better model; None if neither is.
    """

    relation: str
    name: Annotated[str, Heading("relation")]
    facts: Annotated[int, Heading("facts")]
    first: Annotated[float, Heading("{first}")]
    second: Annotated[float, Heading("{second}")]
    difference: Annotated[Points, Heading("difference")]
    lost: int
    gained: int
    p: Annotated[float, Heading("p")]
    adjusted_p: Annotated[float, Heading("adjusted p")]
    better: Annotated[str | None, Heading("better", none="tie")]


@dataclass(frozen=True, slots=True)
class PairDifference(ResultRow):
    """Two models on all facts; attributes as in :class:`RelationDifference`.

    Attributes:
        first, second: their labels.
        discordant: share of the facts that only one model has right.
        ties: names of the relations in which neither is significantly better.
        detectable: the smallest difference that the test detects with 80% power, with as many facts and this discordant
            share; None where there is none.
        means: differences of the probes' other measures, second less first, with paired bootstrap intervals.
        relations: the same by relation, in the order of the comparison.
    """

    first: Annotated[str, Heading("first")]
    second: Annotated[str, Heading("second")]
    facts: int
    difference: Annotated[Points, Heading("second - first")]
    lost: Annotated[int, Heading("first alone")]
    gained: Annotated[int, Heading("second alone")]
    p: Annotated[float, Heading("p")]
    discordant: float
    better: Annotated[str | None, Heading("better", none="neither")]
    ties: Annotated[Sequence[str], Heading("ties", len)]
    detectable: Annotated[float | None, Heading("detectable", Points)]
    means: Mapping[str, Mean]
    relations: Sequence[RelationDifference]

    def relations_table(self) -> Table:
        """Return the differences by relation."""
        title = f"{self.second} less {self.first}, by relation, in points"
        note = f"Neither is significantly better: {', '.join(self.ties)}." if self.ties else "No relation is a tie."
        rows = [row.cells({"first": self.first, "second": self.second}) for row in self.relations]
        return Table("relations", title, rows, [note], detail=True)

    def summary(self) -> str:
        """Return the better model, the difference and its significance in sentences."""
        low, high = 100 * (self.difference.low or 0), 100 * (self.difference.high or 0)
        verdict = f"{self.better} knows more of" if self.better else "Neither is significantly better on"
        detectable = f"With {self.facts:,} facts, no difference is detectable."
        if self.detectable is not None:
            detectable = f"Minimum detectable difference (80% power): {points(self.detectable)}."
        return (
            f"{verdict} the {self.facts:,} facts: {self.second} less {self.first} is"
            f" {100 * self.difference.value:+.1f} points (95% interval {low:.1f} to {high:.1f}; p {_p_text(self.p)})."
            f" Ties in {len(self.ties)} of {counted(len(self.relations), 'relation')}. {detectable}"
        )


_PAIRS = (
    "Differences are in points. p: McNemar's exact test, two-sided. Ties: relations, of {relation_count}, in which"
    " neither is significantly better (Benjamini and Hochberg, 5%). Detectable: the smallest difference that the test"
    " would find in as many facts with 80% power, if as large a share of them is known to one alone."
)
_CONFIDENCES = (
    "Answers with a confidence, to facts that all share. Brier: mean squared difference of confidence from 1 (right) or"
    " 0 (wrong). Second - first: mean difference of the Brier scores over the facts with a confidence in both, with a"
    " paired bootstrap interval; each fact counts once. Fewer than 20 answers have no figures."
)
_SUBSUMPTION = "Subsumption: share of the facts known by the row's model that the column's model knows, too"
_CORRELATION = "Pearson correlation of accuracies over relations ({relation_count})"


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class Comparison(StoredResult):
    """Comparison of models on the same facts; one row for each model, the best first.

    Attributes:
        caveat: the facts that the rates refer to.
        models: the models over the shared facts with the intervals of their rates, the best first.
        labels: names of the models, in the given order.
        leads: name of the leading measure; empty for the win rate.
        relations: accuracies by relation, by decreasing mean.
        correlation: Pearson's, of accuracies over relations, shape (models, models); NaN where one has no spread, and
            with fewer than three relations.
        subsumption: in row i and column j, the share of the facts known by model i that j knows; NaN if there are none.
        pairs: every pair of models, in their order.
        two_ways: facts that are known in one direction or language only; None unless two results differ in it.
        refusals: change of refusals; None unless two results are of one model and probe, and one refuses or may.
        over_relations: means over relations, best and worst relations, and families.
        confidences: calibration of each result and source over the shared facts; empty if no answer has a confidence.
        unshared: number of shared facts, and the reason why not all are, in sentences; empty if all are.
        answered: each model's answers to the shared facts; none if it was read.
    """

    caveat: str
    models: Annotated[Sequence[ComparedModel], Listing(main=True)]
    labels: Sequence[str]
    leads: str
    relations: Annotated[Sequence[RelationAccuracy], Listing()]
    correlation: Floats
    subsumption: Floats
    pairs: Annotated[Sequence[PairDifference], Listing("Differences of accuracy, two by two", _PAIRS)]
    two_ways: TwoWays | None
    over_relations: OverRelations
    refusals: RefusalChange | None = None
    confidences: Annotated[Sequence[ComparedConfidence], Listing("Calibration", _CONFIDENCES, optional=True)] = ()
    unshared: str = ""
    answered: Annotated[Sequence[pd.DataFrame], INTERNAL] = ()

    file: ClassVar[str] = "comparison"
    properties: ClassVar[Sequence[str]] = ("facts",)

    @property
    def facts(self) -> int:
        """Number of the shared facts."""
        return self.models[0].shared

    @property
    def relation_count(self) -> int:
        """Number of the relations."""
        return len(self.relations)

    @property
    def title(self) -> str:
        """Title of the page: what changed between two results, or the shares of the shared facts that models know."""
        if len(self.pairs) == 1:
            pair = self.pairs[0]
            return f"{change_in_words(pair.lost, pair.gained, pair.facts)} from {pair.first} to {pair.second}"
        first, *others = self.models
        facts = f"the {counted(self.facts, 'fact')} that all were asked"
        if len(self.models) > _IN_TITLE:
            return f"{first.label} knows most of {facts}, of {len(self.models)} models: {first.win_rate}"
        rest = "".join(f", {model.label} {model.win_rate}" for model in others)
        return f"{first.label} knows {first.win_rate} of {facts}{rest}"

    @property
    def rates(self) -> Annotated[Sequence[Mapping[str, Any]], Listing("Side by side", "{caveat}")]:
        """The models with the names of their measures for people."""
        rows = side_by_side(self.models)
        return [
            {measure_name(name) if name.endswith(" at n") else name: cell for name, cell in row.items()} for row in rows
        ]

    @property
    def accuracy(
        self,
    ) -> Annotated[
        Sequence[Mapping[str, Any]],
        Listing("Accuracy by relation, the highest mean first", detail=True, shaded=True),
    ]:
        """Accuracies by relation, with a column for each model."""
        relations = [relation.cells() for relation in self.relations]
        accuracies = np.array([relation.accuracy for relation in self.relations])
        return matrix_rows(relations, self.labels, accuracies, Percent)

    @property
    def knowing_none(self) -> str:
        """The models that know none of the facts, in sentences."""
        labels = [model.label for model in self.models if model.win_rate and not model.win_rate.value]
        return " ".join(f"{label} knows none of the facts, so its shares are undefined." for label in labels)

    @property
    def shared_knowledge(
        self,
    ) -> Annotated[Sequence[Mapping[str, Any]], Listing(_SUBSUMPTION, "{knowing_none}", detail=True, shaded=True)]:
        """Subsumption, with a row and a column for each model."""
        return matrix_rows([{"model": label} for label in self.labels], self.labels, self.subsumption, Percent)

    @property
    def without_spread(self) -> str:
        """The models without a correlation, in sentences."""
        varies: Bools = np.atleast_1d(np.ptp([relation.accuracy for relation in self.relations], axis=0) > 0)
        labels = [label for label, is_varied in zip(self.labels, varies, strict=True) if not is_varied]
        same = "has the same accuracy in all relations, so its correlations are undefined."
        return " ".join(f"{label} {same}" for label in labels)

    @property
    def correlations(
        self,
    ) -> Annotated[Sequence[Mapping[str, Any]], Listing(_CORRELATION, "{without_spread}", detail=True, shaded=True)]:
        """Correlations, with a row and a column for each model; none over fewer than three relations."""
        if len(self.relations) < _CORRELATED:
            return []
        return matrix_rows([{"model": label} for label in self.labels], self.labels, self.correlation, float)

    @property
    def means(
        self,
    ) -> Annotated[
        Sequence[Mapping[str, Any]],
        Listing("Differences of means, second less first, with paired bootstrap intervals", detail=True, last=True),
    ]:
        """Differences of the probes' other measures, for each pair of models."""
        rows = []
        for pair in filter(lambda pair: pair.means, self.pairs):
            words = {measure_name(name): mean for name, mean in pair.means.items()}
            rows.append({"first": pair.first, "second": pair.second, **words})
        return rows

    def tables(self) -> list[Table]:
        """Return rates, accuracies by relation, subsumption, correlations and pairs; then pairs by relation."""
        return [*StoredResult.tables(self), *(pair.relations_table() for pair in self.pairs)]

    def page_sections(self) -> list[Section]:
        """Return the tables as sections of the page."""
        sections: list[Section] = []
        for table in self.tables():
            section = table_section(table)
            if table.key == "relations":
                # The table of contents names the first of several pairs.
                listed = all(other.short != _BY_RELATION for other in sections)
                section = replace(section, short=_BY_RELATION, listed=listed)
            sections.append(section)
        return sections

    def page(self, folder: Path | None = None) -> Path:
        """Write a page, everything as JSON, and the facts as CSV; return the page's path.

        :meth:`kgprobe.results.report.Report.page` writes the same page with all that the graph says about each result.

        Args:
            folder: target of the files, which is made; None is that of the result.

        Raises:
            KgprobeError: a file cannot be written.
        """
        if self.read_from is not None:
            return self.stored_page(folder)
        folder = folder or self.folder
        self.write_files(folder)
        # The strips are of the same facts as the title.
        frames = {label: self._facts_of(own) for label, own in zip(self.labels, self.answered, strict=True)}
        bars = [self._bar(label, facts) for label, facts in frames.items()]
        probes = {model.label: model.probe for model in self.models}
        packed = pack_facts({label: ResultFacts(probes[label], facts) for label, facts in frames.items()})
        sections = [
            Section("text", "In words", {"paragraphs": [*self.notes, self.summary()]}),
            Section("whole", values={"bars": bars}, notes=[self.caveat]),
            matrix_section(frames, packed.notes),
            *self.page_sections(),
            settings_section(self.config),
        ]
        path = folder / f"{self.file}.html"
        return write_page(path, self.title, [], sections, data=packed.data, script=RESULT_SCRIPTS)

    def _facts_of(self, own: pd.DataFrame) -> pd.DataFrame:
        """Return a result's facts for the data of a page; each is believed by its own answers alone."""
        names = {relation.relation: relation.name for relation in self.relations}
        right, wrong = own["right"].to_numpy(np.int64), own["wrong"].to_numpy(np.int64)
        alpha, beta = 1.0 + wrong, 1.0 + right
        theta = alpha / (alpha + beta)
        low, high = credible_interval(alpha, beta)
        words = belief_words(right, wrong, theta, low, high, by_luck=own["guessed"].to_numpy(np.float64))
        facts: pd.DataFrame = own[["subject", "relation", "right", "wrong", "question", "prediction"]].assign(
            fact=own.index.to_numpy(),
            subject_label=None,
            relation_label=[names.get(relation, relation) for relation in own["relation"]],
            object=own["right_answer"],
            object_label=own["right_answer"],
            answer=own["right_answer"],
            known=1 - theta,
            known_low=1 - high,
            known_high=1 - low,
            belief=[word.value for word in words],
            probability=None,
            text=None,
            prompt="",
        )
        facts["names"] = [()] * len(facts)
        return facts

    def _bar(self, label: str, facts: pd.DataFrame) -> list[BarPart]:
        """Return the bar of a result over the shared facts."""
        words = facts["belief"].value_counts()
        parts = []
        for word in BeliefWord:
            count = int(words.get(word.value, 0))
            if count:
                parts.append(BarPart(label, word.value, count, count / self.facts, is_asked=True))
        return parts

    def summary(self) -> str:
        """Return the best model in a sentence or two, after two ways and the leading metric where there are any."""
        sentences = [self.two_ways.summary()] if self.two_ways else []
        if self.leads:
            means = [f"{model.label} {model.means.get(self.leads, 'none')}" for model in self.models]
            sentences.append(f"{measure_name(self.leads)}: {', '.join(means)}.")
        if len(self.pairs) == 1:
            sentences.append(self.pairs[0].summary())
        else:
            best, equal = self.models[0], sum(pair.better is None for pair in self.pairs)
            sentences.append(
                f"{best.label} knows most of the {self.facts:,} facts: {best.win_rate}. {equal} of"
                f" {len(self.pairs)} pairs of models are not significantly different."
            )
        sentences += [self.refusals.summary()] if self.refusals else []
        return " ".join(sentences)

    def facts_frame(self) -> pd.DataFrame:
        """Return one row for each shared fact: question, right answer, each model's verdict and prediction."""
        if self.read_from is not None:
            return read_frame(self.read_from / "facts.csv", [f"{label}: right" for label in self.labels])
        frame = self.answered[0][["subject", "relation", "question", "right_answer"]].copy()
        for label, own in zip(self.labels, self.answered, strict=True):
            frame[f"{label}: right"] = own["right"] > own["wrong"]
            frame[f"{label}: prediction"] = own["prediction"]
        table: pd.DataFrame = frame.rename_axis("fact").reset_index()
        return table

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the shared facts, and the rows of each table."""
        return {"facts": self.facts_frame(), **StoredResult.frames(self)}


def measure_name(name: str) -> str:
    """Return the name of a measure for people.

    >>> measure_name("min_at_n"), measure_name("share_right")
    ('Min@n', 'Share right')
    """
    return name.replace("_", " ").replace(" at ", "@").capitalize()


def _p_text(p: float) -> str:
    return "≈ 0" if p < _SMALLEST_P else f"= {p:.2g}"


def compare_results(results: Sequence[Stored], seed: int, families: Mapping[str, str] = NO_FAMILIES) -> Comparison:
    """Compare stored results; see :func:`kgprobe.compare`."""
    shared, names, unshared = collect_answers(results)
    groups = averaged_models(results, shared.labels, families)
    languages, missing = _languages_of_subjects(results, shared)
    comparison = replace(
        compare_models(shared, names, seed, groups, languages),
        refusals=refusal_change(results, shared),
        confidences=compare_confidences(results, shared.labels, shared.facts, seed=seed),
    )
    notes = list(filter(None, [unshared, note_of_dates(map(settings_of, results)), missing]))
    directions, states = ({settings_of(result)[name] for result in results} for name in ("reversed", "graph"))
    if len(directions) > 1 and len(states) > 1:
        notes.append(
            "The graph changed between the two directions: the inverse graph was made from an older or newer state."
        )
    elif len(states) > 1:
        changes = dict.fromkeys(change_note(graph_change(results[0], other)) for other in results[1:])
        notes += filter(None, changes)
    for other, label in zip(results[1:], comparison.labels[1:], strict=True):
        if differences := differing_settings(results[0], other):
            which = "They" if len(results) == 2 else f"{comparison.labels[0]} and {label}"
            more = " in more than the model" * (model_identity(results[0]) != model_identity(other))
            notes.append(f"{which} differ{more}: {'; '.join(differences)}.")
    config = {"compared": [str(result.folder) for result in results], "seed": seed}
    return replace(comparison, unshared=unshared, notes=tuple(notes), config=config)


def _languages_of_subjects(
    results: Sequence[Stored], shared: SharedFacts
) -> tuple[Mapping[str, Mapping[str, str]] | None, str]:
    """Return the official languages of the subjects if the results differ in language; without a graph, a note."""
    if len({about.ask_in for about in shared.abouts}) == 1:
        return None, ""
    graph = next((result.graph for result in results if result.graph is not None), None)
    if graph is None:
        return None, "The table by language of the entity needs the graph: give `graph`."
    subjects = shared.answered[0].loc[list(shared.facts), "subject"]
    return official_languages(graph, subjects.tolist(), shared.abouts[0].as_of), ""


def compare_models(
    shared: SharedFacts,
    names: Mapping[str, str],
    seed: int = 0,
    groups: Sequence[Averaged] | None = None,
    languages: Mapping[str, Mapping[str, str]] | None = None,
) -> Comparison:
    """Compare models by accuracy, correlation, subsumption and significance.

    Cost: for each pair of models, a test per relation, and a bootstrap over facts where probes have other measures.

    Args:
        names: names of relations by id; a missing one is replaced by the id.
        groups: models, each with its results; None takes each result by itself.
        languages: official languages of the subjects, for two results in two languages.

    Raises:
        KgprobeError: the models share no facts.
    """
    if not shared.facts:
        raise KgprobeError(shared.caveat)
    ids, of_fact, sizes = np.unique(shared.relations, return_inverse=True, return_counts=True)
    right = np.array([np.bincount(of_fact[known], minlength=len(ids)) for known in shared.known])
    accuracy = (right / sizes).T
    means = accuracy.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    relations = []
    for place in order.tolist():
        relation = str(ids[place])
        own = int(sizes[place]), float(means[place]), accuracy[place].tolist()
        relations.append(RelationAccuracy(relation, names.get(relation, relation), *own))
    place_of = np.argsort(order)
    groups = groups or single_models(shared.labels, [model.model for model in shared.models])
    relation_pairs = [(str(id_), names.get(str(id_), str(id_))) for id_ in ids]
    facts = list(shared.facts)
    return Comparison(
        caveat=shared.caveat,
        models=shared.best_first,
        labels=shared.labels,
        leads=shared.leads,
        relations=relations,
        correlation=_correlations(accuracy),
        subsumption=_subsumption(shared.known),
        pairs=[
            _compare_pair(shared, pair, relations, place_of[of_fact], seed)
            for pair in combinations(range(len(shared.models)), 2)
        ],
        two_ways=compare_ways(shared, names, languages),
        over_relations=over_relations(groups, shared.labels, relation_pairs, accuracy, shared.known, of_fact),
        answered=[own.loc[facts] for own in shared.answered],
    )


def _correlations(accuracy: Floats) -> Floats:
    """Return Pearson correlations of models from accuracies, shape (relations, models).

    NaN for a model with one accuracy, and with fewer than three relations: two points are always on a line.
    """
    varied = np.ptp(accuracy, axis=0) > 0
    correlations = np.full((accuracy.shape[1],) * 2, np.nan)
    if varied.any() and len(accuracy) >= _CORRELATED:
        correlations[np.ix_(varied, varied)] = np.atleast_2d(np.corrcoef(accuracy[:, varied], rowvar=False))
    return correlations


def _subsumption(known: Bools) -> Floats:
    """Return, in row i and column j, the share of the facts known by model i that j knows; NaN if there are none."""
    both = known.astype(np.int64) @ known.T
    own = np.diag(both)[:, None]
    rates: Floats = np.divide(both, own, out=np.full(both.shape, np.nan), where=own > 0)
    return rates


def _compare_pair(
    shared: SharedFacts,
    pair: tuple[int, int],
    relations: Sequence[RelationAccuracy],
    relation_of: NDArray[np.int64],
    seed: int,
) -> PairDifference:
    """Compare the two models at these places; ``relation_of`` is the place of each fact's relation."""
    first, second = pair
    labels = shared.labels[first], shared.labels[second]
    known, too = shared.known[[first, second]]
    # Numbers of facts by relation; the last one is that of all.
    facts, lost, gained = (
        np.append(np.bincount(relation_of[chosen], minlength=len(relations)), chosen.sum())
        for chosen in (known | True, known & ~too, too & ~known)
    )
    p = mcnemar(lost, gained)
    adjusted = stats.false_discovery_control(p[:-1])
    ends = np.stack([(gained - lost) / facts, *loss_interval(gained, lost, facts)], axis=1)
    *differences, overall = [Points(*interval) for interval in ends.tolist()]
    by_relation = [
        RelationDifference(
            relation.relation,
            relation.name,
            relation.facts,
            relation.accuracy[first],
            relation.accuracy[second],
            differences[place],
            int(lost[place]),
            int(gained[place]),
            float(p[place]),
            float(adjusted[place]),
            _better(labels, differences[place], adjusted[place]),
        )
        for place, relation in enumerate(relations)
    ]
    total, discordant = len(known), float((lost[-1] + gained[-1]) / len(known))
    return PairDifference(
        *labels,
        total,
        overall,
        int(lost[-1]),
        int(gained[-1]),
        float(p[-1]),
        discordant,
        _better(labels, overall, p[-1]),
        [relation.name for relation in by_relation if relation.better is None],
        detectable_difference(discordant, total),
        _mean_differences({name: values[second] - values[first] for name, values in shared.values.items()}, seed),
        by_relation,
    )


def _better(labels: tuple[str, str], difference: Points, p: float) -> str | None:
    """Return the significantly better model; None if neither is."""
    return None if p > SIGNIFICANCE else labels[difference.value > 0]


def _mean_differences(values: Mapping[str, Floats], seed: int) -> dict[str, Mean]:
    """Return mean differences with intervals, over the facts for which both models have a value."""
    means = {}
    for name, differences in values.items():
        both = differences[~np.isnan(differences)]
        if len(both):
            means[name] = mean_at(mean_curve(both[:, None], seed, least=-1.0), 1)
    return means
