"""What a model knows, with intervals: the same for every probe, for runs and measurements.

docs/methods/findings.md. Metrics count a fact's own answers only; what neighbours propagated in a run moves E[theta],
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

# Of what is told of every asked fact.
FACT_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("right", "wrong", "refused", "off_format", "guessed", "theta", "low", "high", "belief"),
    *("popularity", "year"),
)


@dataclass(frozen=True, slots=True)
class ShownFact:
    """A fact, what the model did on it, and how sure that makes us.

    Attributes:
        answer: what is right, to ``question``.
        theta: E[theta], the probability that the model fails on the fact.
        low, high: 90% credible interval of theta.
        belief: see :mod:`kgprobe.beliefs.belief_words`.
        question: the latest that went as the fact is listed: a known fact's that the model got right, an unknown one's
            that it got wrong.
        prediction: of an unknown fact, what the model preferred in that question, or said.
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
    """Where a finding comes from.

    Attributes:
        name: the run's, or the measurement's.
        rounds: of a run; None of a measurement, where each fact was asked once.
        sampling: how a run chose its facts.
        described: what the probe says of itself.
        versions: of libraries.
        reversed: whether the facts were asked from object to subject.
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
        """The probe, and the direction where it is the other one."""
        return asked_by(self.probe, self.reversed)

    @property
    def called(self) -> str:
        """What people call the model."""
        return model_name(self.model)

    @property
    def caveat(self) -> str | None:
        """What the rates do not speak of, in a sentence; None where facts were not asked for what the model did."""
        return caveat_of(self.sampling)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one run or measurement found.

    Attributes:
        chance: how often guessing at random would be right, over the questions asked; None where nothing says so. What
            a guesser's win rate would be is told of each group.
        asked: how many answers there are.
        theta: the mean of E[theta] over the asked facts.
        overall: all asked facts.
        groupings: the same by relation, by entity (a fact counts for its subject and its object), by the subject's
            types, by thirds of its popularity, and by year; without those in which no fact has a group.
        tables: what the probe has to tell beside.
        unknown: facts that are surely unknown, then those that lean to it, the highest lower bound of theta first.
        known: facts that are surely known, then those that lean to it, the lowest upper bound of theta first.
        believed: how many of the asked facts are what, for each belief in words.
        facts: every asked fact, one row each, ``FACT_COLUMNS``: ids and labels, its own answers, how probably a guesser
            would win it, E[theta] with its 90% credible interval, and that in words, the subject's popularity (NaN
            where it is not known), and the year (None where there is none).
        unaskable, unanswered: how many facts could not be asked, and questions got no answer, by reason.
        measure: the measure that leads in place of the win rate; None where the probe has none.
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
        """Whether refusals or answers off the format are among the wrong ones, so that it matters to leave them out."""
        return self.overall.heard < self.overall.facts or self.overall.heard_win_rate != self.overall.win_rate

    @property
    def headline(self) -> str:
        """The probe's leading measure; else the share of the graph that the model knows, or of the facts asked."""
        if self.measure is not None:
            return f"{self.about.called} is {self.measure}"
        if self.graph_rate is not None and self.over_graph is not None:
            told = (
                f"{self.about.called} knows {self.graph_rate} of the graph's {counted(self.over_graph.facts, 'fact')}"
            )
            return told if self.chance is None else f"{told}; chance level {self.chance:.0%}"
        told = f"{self.about.called} knows {self.overall.win_rate} of the {counted(self.overall.facts, 'fact')} asked"
        return told if self.chance is None else f"{told}; a guesser, {self.overall.guessed:.0%}"

    @property
    def graph_rate(self) -> Share | None:
        """The estimated share of right answers over the whole graph; None where it cannot be estimated."""
        if self.over_graph is None or self.over_graph.overall is None:
            return None
        return Share(self.over_graph.overall.value, self.over_graph.overall.low, self.over_graph.overall.high)

    def to_dict(self) -> dict[str, Any]:
        """The rates and the probe's tables, with stable keys."""
        return {
            "headline": self.headline,
            "headline_details": self.measure and self.measure.details,
            "headline_measure": self.measure
            and {
                "name": self.measure.name,
                "facts": self.measure.facts,
                "value": self.measure.rate.value,
                "interval": [self.measure.rate.low, self.measure.rate.high],
                "chance": self.measure.guessed,
            },
            "caveat": self.about.caveat,
            "facts_asked": self.overall.facts,
            "win_rate": self.overall.win_rate.value,
            "win_rate_interval": [self.overall.win_rate.low, self.overall.win_rate.high],
            "zero_sense_rate": self.overall.zero_sense_rate.value,
            "zero_sense_rate_interval": [self.overall.zero_sense_rate.low, self.overall.zero_sense_rate.high],
            "chance": self.chance,
            "believed": {word.value: count for word, count in self.believed.items()},
            "over_graph": None
            if self.over_graph is None or self.graph_rate is None
            else {
                "facts": self.over_graph.facts,
                "right": self.graph_rate.value,
                "right_interval": [self.graph_rate.low, self.graph_rate.high],
            },
            "tables": {table.key: table.to_dict() for table in self.tables},
        }
