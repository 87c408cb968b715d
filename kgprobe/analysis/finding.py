"""The finding of a run or a measurement, by any probe: rates with intervals, known and unknown facts.

docs/methods/findings.md. Metrics count a fact's own answers only. In a run, answers about neighbours change E[theta],
by which facts are ranked, but never the win rate or the zero-sense rate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from kgprobe.analysis.rates import Group, Grouping, caveat_of
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.graph.reversal import asked_by
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.outcome import Headline
from kgprobe.sanitize import counted
from kgprobe.stats.proportions import Share
from kgprobe.tables import Table

if TYPE_CHECKING:
    from kgprobe.analysis.graph_rates import GraphRates

# Columns of the table of asked facts.
FACT_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("right", "wrong", "refused", "off_format", "guessed", "theta", "low", "high", "belief"),
    *("popularity", "year"),
)


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A listed fact with its answers and its belief.

    Attributes:
        answer: the right answer to ``question``.
        theta: E[theta], the probability that the model fails on the fact.
        low, high: 90% credible interval of theta.
        belief: see :mod:`kgprobe.beliefs.belief_words`.
        question: the latest question that the model got right for a known fact, and wrong for an unknown fact.
        prediction: the model's answer to that question, for an unknown fact.
    """

    fact: str
    relation: str
    subject: str
    answer: str
    right: int
    wrong: int
    theta: float
    low: float
    high: float
    belief: BeliefWord
    question: str
    prediction: str | None


@dataclass(frozen=True, slots=True)
class About:
    """The origin of a finding.

    Attributes:
        name: name of the run or the measurement.
        described: description of the probe and its options.
        versions: versions of libraries.
        rounds: number of rounds of a run; None for a measurement, which asks each fact once.
        sampling: sampling rule of a run.
        reversed: True if the facts were asked from object to subject.
    """

    name: str
    model: str
    probe: str
    as_of: int
    seed: int
    described: Mapping[str, Any]
    versions: Mapping[str, str]
    rounds: int | None = None
    sampling: str | None = None
    reversed: bool = False

    @property
    def asked_by(self) -> str:
        """The probe, and the direction if it is reversed."""
        return asked_by(self.probe, self.reversed)

    @property
    def called(self) -> str:
        """The model's short name."""
        return model_name(self.model)

    @property
    def caveat(self) -> str | None:
        """A sentence on the facts that the rates refer to; None if the model did not affect their choice."""
        return caveat_of(self.sampling)


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a run or a measurement.

    Attributes:
        chance: the probability that a random guess is right, over the questions; None if unknown. Groups have the win
            rate of a guesser.
        asked: number of answers.
        theta: the mean of E[theta] over the asked facts.
        overall: all asked facts.
        groupings: the same by relation, by entity (a fact counts for its subject and its object), by the subject's
            types, by thirds of its popularity, and by year. Groupings without groups are left out.
        tables: the probe's own tables.
        unknown: facts that are unknown, then those that lean to unknown, by decreasing lower bound of theta.
        known: facts that are known, then those that lean to known, by increasing upper bound of theta.
        believed: number of asked facts by belief word.
        facts: one row per asked fact with ``FACT_COLUMNS``: ids and labels, own answers, a guesser's probability to win
            it, E[theta] with its 90% credible interval and belief word, the subject's popularity (NaN if unknown), and
            the year (None if unknown).
        unaskable, unanswered: numbers of facts that could not be asked, and of questions without answers, by reason.
        measure: the measure that replaces the win rate in the headline; None where the probe has none.
        over_graph: estimated rates over the whole graph, with an overall rate; None where inclusion probabilities are
            unknown.
    """

    about: About
    chance: float | None
    asked: int
    theta: float
    overall: Group
    groupings: Sequence[Grouping]
    tables: Sequence[Table]
    unknown: Sequence[ShownFact]
    known: Sequence[ShownFact]
    believed: Mapping[BeliefWord, int]
    facts: pd.DataFrame = field(compare=False, repr=False)
    unaskable: Mapping[str, int] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    measure: Headline | None = None
    over_graph: "GraphRates | None" = None

    @property
    def has_silence(self) -> bool:
        """True if wrong answers include refusals or answers off the format."""
        return self.overall.heard < self.overall.facts or self.overall.heard_win_rate != self.overall.win_rate

    @property
    def headline(self) -> str:
        """The probe's leading measure, or else the share of the graph, or of the asked facts, that the model knows."""
        if self.measure is not None:
            return f"{self.about.called} is {self.measure}"
        if self.graph_rate is not None and self.over_graph is not None:
            facts = counted(self.over_graph.facts, "fact")
            text, chance = f"knows {self.graph_rate} of the graph's {facts}", f"chance level {self.chance or 0:.0%}"
        else:
            facts = counted(self.overall.facts, "fact")
            text, chance = (
                f"knows {self.overall.win_rate} of the {facts} asked",
                f"a guesser, {self.overall.guessed:.0%}",
            )
        return f"{self.about.called} {text}" if self.chance is None else f"{self.about.called} {text}; {chance}"

    @property
    def graph_rate(self) -> Share | None:
        """The estimated share of right answers over the whole graph; None where it cannot be estimated."""
        if self.over_graph is None or self.over_graph.overall is None:
            return None
        return Share(self.over_graph.overall.value, self.over_graph.overall.low, self.over_graph.overall.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the rates and the probe's tables, with stable keys."""
        measure, rate = self.measure, self.graph_rate
        details = headline_measure = over_graph = None
        if measure is not None:
            details = measure.details
            headline_measure = {
                "name": measure.name,
                "facts": measure.facts,
                "value": measure.rate.value,
                "interval": [measure.rate.low, measure.rate.high],
                "chance": measure.guessed,
            }
        if self.over_graph is not None and rate is not None:
            over_graph = {"facts": self.over_graph.facts, "right": rate.value, "right_interval": [rate.low, rate.high]}
        return {
            "headline": self.headline,
            "headline_details": details,
            "headline_measure": headline_measure,
            "caveat": self.about.caveat,
            "facts_asked": self.overall.facts,
            "win_rate": self.overall.win_rate.value,
            "win_rate_interval": [self.overall.win_rate.low, self.overall.win_rate.high],
            "zero_sense_rate": self.overall.zero_sense_rate.value,
            "zero_sense_rate_interval": [self.overall.zero_sense_rate.low, self.overall.zero_sense_rate.high],
            "chance": self.chance,
            "believed": {word.value: count for word, count in self.believed.items()},
            "over_graph": over_graph,
            "tables": {table.key: table.to_dict() for table in self.tables},
        }
