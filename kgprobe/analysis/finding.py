"""What a model knows of the facts it was asked, with intervals: the same for every probe, for runs and measurements.

docs/methods.md, 2. Metrics count a fact's own answers only; what neighbours propagated in a run moves E[theta], by
which facts are ranked, but never the win rate or the zero-sense rate.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from kgprobe.analysis.rates import Group, Grouping, OverGraph, by_popularity, by_year, caveat_of, group_of, grouped
from kgprobe.asking.runs import get_run
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.beliefs.summary import summarize
from kgprobe.errors import KgprobeError
from kgprobe.estimates import more_than_half
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.reversal import asked_by
from kgprobe.intervals import year_of
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.outcome import Headline, Outcome, Verdict, guessing_chance
from kgprobe.probes.register import PROBES
from kgprobe.tables import Table
from kgprobe.texts import counted

if TYPE_CHECKING:
    from kgprobe.sampling.keys import FactKey

# Of what is told of every asked fact.
FACT_COLUMNS = (
    *("fact", "subject", "subject_label", "relation", "relation_label", "object", "object_label"),
    *("right", "wrong", "refused", "off_format", "guessed", "theta", "low", "high", "belief"),
    *("popularity", "year"),
)
_FACTS_AT_ONCE = 1_000
_COUNTED = ("right", "wrong", "refused", "off_format")


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
        winner: of an unknown fact, what the model preferred in that question, or said.
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
    winner: str | None


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
        over_graph: how often the model is right over the whole graph; None where the facts asked do not tell.
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
    over_graph: OverGraph | None = None

    @property
    def has_silence(self) -> bool:
        """Whether refusals or answers off the format are among the wrong ones, so that it matters to leave them out."""
        return self.overall.heard < self.overall.facts or self.overall.heard_win_rate != self.overall.win_rate

    @property
    def headline(self) -> str:
        """What the model knows, in a sentence."""
        if self.measure is not None:
            return f"{self.about.called} is {self.measure}"
        told = f"{self.about.called} knows {self.overall.win_rate} of the {counted(self.overall.facts, 'fact')} asked"
        return told if self.chance is None else f"{told}; a guesser, {self.overall.guessed:.0%}"

    def as_json(self) -> dict[str, Any]:
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
            "over_graph": self.over_graph
            and {
                "facts": self.over_graph.facts,
                "right": self.over_graph.right.value,
                "right_interval": [self.over_graph.right.low, self.over_graph.right.high],
            },
            "tables": {table.key: table.as_json() for table in self.tables},
        }


class _Shown(NamedTuple):
    """A question as a finding shows it."""

    question: str
    answer: str
    winner: str | None


class _Answers(NamedTuple):
    """Each fact's latest right and wrong question, and the reasons of unanswered ones."""

    right: dict[str, _Shown]
    wrong: dict[str, _Shown]
    unanswered: Counter[str]


def find_in_run(
    graph: Graph,
    run: str,
    outcomes: Callable[[], Iterable[Outcome]],
    *,
    over_graph: OverGraph | None = None,
    year_relation: str | None = None,
    shown: int = 20,
) -> Finding:
    """The finding of a run.

    Args:
        run: its id.
        outcomes: gives its outcomes, in the order of asking.
        over_graph: what its answers tell of the whole graph.
        year_relation: id of the relation whose date at the subject gives a fact's year; None takes the year in which
            the fact began.
        shown: how many facts to list as known and as unknown, at most each.

    Raises:
        KgprobeError: the run has asked nothing yet.
        UnknownNameError: there is no such run.
    """
    properties = get_run(graph, run)
    rows = graph.read("beliefs/own_answers", run=run)
    about = About(
        name=run,
        model=properties["model"],
        probe=properties["probe"],
        as_of=properties["as_of"],
        seed=properties["seed"],
        described=msgspec.json.decode(properties["config"]),
        versions=msgspec.json.decode(properties["versions"]),
        rounds=properties["round"],
        sampling=properties["sampling"],
        reversed=properties["reversed"],
    )
    return replace(_find(graph, about, rows, outcomes, year_relation, shown), over_graph=over_graph)


def find_in_outcomes(
    graph: Graph,
    about: About,
    outcomes: Callable[[], Iterable[Outcome]],
    *,
    year_relation: str | None = None,
    shown: int = 20,
) -> Finding:
    """Return the finding of a measurement, in which a fact has one answer and learns nothing from others.

    Arguments and errors as of :func:`find_in_run`.
    """
    rows: dict[FactKey, Row] = {}
    for outcome in outcomes():
        row = rows.setdefault(
            outcome.fact,
            {**outcome.fact._asdict(), **dict.fromkeys(_COUNTED, 0), "chances": [], "unaskable": None},
        )
        row["right"] += outcome.verdict is Verdict.RIGHT
        row["wrong"] += outcome.verdict.is_failure
        row["refused"] += outcome.verdict is Verdict.REFUSED
        row["off_format"] += outcome.verdict is Verdict.OFF_FORMAT
        chance = guessing_chance(outcome)
        row["chances"] += [] if chance is None else [chance]
        if outcome.verdict is Verdict.UNASKABLE:
            row["unaskable"] = outcome.reason
    return _find(graph, about, _counted_beliefs(list(rows.values())), outcomes, year_relation, shown)


def _counted_beliefs(answers: Sequence[Row]) -> list[Row]:
    """Return answers with the beliefs that follow from their counts alone."""
    beliefs = [{**row, "alpha": 1 + row["wrong"], "beta": 1 + row["right"]} for row in answers]
    summaries = summarize(beliefs)
    ends = zip(summaries.theta.tolist(), summaries.low.tolist(), summaries.high.tolist(), strict=True)
    return [
        {**row, "theta": theta, "low": low, "high": high, "believed": word.value}
        for row, (theta, low, high), word in zip(answers, ends, summaries.words, strict=True)
    ]


def _find(
    graph: Graph,
    about: About,
    rows: Sequence[Row],
    outcomes: Callable[[], Iterable[Outcome]],
    year_relation: str | None,
    shown: int,
) -> Finding:
    answered = sorted((row for row in rows if row["right"] + row["wrong"] > 0), key=lambda row: str(row["fact"]))
    if not answered:
        raise KgprobeError(f"{about.name!r} has not got an answer yet.")
    examined = _described(graph, answered, year_relation)
    names = relation_names(graph, examined["relation"].unique())
    examined["relation_label"] = examined["relation"].map(names)
    examined["year"] = examined["year"].map(year_of)
    examined["popularity"] = examined["popularity"].astype(np.float64)
    answers, kind = _latest(outcomes()), PROBES.get(about.probe)
    # A fact is won by more right answers than wrong ones, by a guesser too.
    examined["guessed"] = [more_than_half(chances) for chances in examined["chances"]]
    chances = [chance for of_fact in examined["chances"] for chance in of_fact]
    words = [BeliefWord(word) for word in examined["believed"]]
    examined["belief"] = examined["believed"]
    examined["leans"] = [not word.is_sure for word in words]
    is_known = np.array([word.is_known for word in words])
    unknown = examined[~is_known].sort_values(["leans", "low", "fact"], ascending=[True, False, True])
    known = examined[is_known].sort_values(["leans", "high", "fact"])
    return Finding(
        about=about,
        chance=float(np.mean(chances)) if chances else None,
        asked=int((examined["right"] + examined["wrong"]).sum()),
        theta=float(examined["theta"].mean()),
        overall=group_of("all", examined),
        groupings=[one for one in _groupings(examined, names) if one.groups],
        tables=[_with_caveat(table, about) for table in kind.tables(outcomes(), about.described)],
        unknown=_shown_facts(unknown.head(shown), answers.wrong),
        known=_shown_facts(known.head(shown), answers.right),
        believed={word: words.count(word) for word in BeliefWord},
        facts=examined[list(FACT_COLUMNS)].reset_index(drop=True),
        unaskable=_reasons(rows),
        unanswered=dict(answers.unanswered.most_common()),
        measure=kind.headline(outcomes()),
    )


def _with_caveat(table: Table, about: About) -> Table:
    return table if about.caveat is None else replace(table, notes=(*table.notes, about.caveat))


def _described(graph: Graph, answered: Sequence[Row], year_relation: str | None) -> pd.DataFrame:
    """Answers beside what the graph says of their facts. Cost: a walk from each subject."""
    about: dict[str, Row] = {}
    for first in range(0, len(answered), _FACTS_AT_ONCE):
        keys = [{"subject": row["subject"], "fact": row["fact"]} for row in answered[first : first + _FACTS_AT_ONCE]]
        about |= {row["fact"]: row for row in graph.read("sample/about", rows=keys, year_relation=year_relation)}
    missing = sum(row["fact"] not in about for row in answered)
    if missing == len(answered):
        raise KgprobeError("None of the facts that were asked is in this graph any more.")
    frame: pd.DataFrame = pd.DataFrame([{**row, **about[row["fact"]]} for row in answered if row["fact"] in about])
    return frame


def _groupings(examined: pd.DataFrame, relations: Mapping[str, str]) -> list[Grouping]:
    entities = examined[["subject", "object"]].apply(lambda row: list(dict.fromkeys(row)), axis=1)
    labels = [
        (id_, label)
        for end in ("subject", "object")
        for id_, label in zip(examined[end], examined[f"{end}_label"], strict=True)
    ]
    types = [(type_["id"], type_["label"] or type_["id"]) for its in examined["types"] for type_ in its]
    return [
        grouped("relation", examined, examined["relation"].map(lambda relation: [relation]), relations.items()),
        # One fact says nothing of an entity.
        grouped("entity", examined, entities, labels, least=2),
        grouped("type", examined, examined["types"].map(lambda its: [type_["id"] for type_ in its]), types),
        by_popularity(examined),
        by_year(examined, examined["year"]),
    ]


def relation_names(graph: Graph, relations: Iterable[str]) -> dict[str, str]:
    """What to call each relation: its label, with the id where others have the same."""
    known = {row["id"]: row["label"] for row in graph.read("sample/relations")}
    labels = {relation: known.get(relation) or relation for relation in relations}
    often = Counter(labels.values())
    return {relation: f"{label} ({relation})" if often[label] > 1 else label for relation, label in labels.items()}


def _latest(outcomes: Iterable[Outcome]) -> _Answers:
    answers = _Answers({}, {}, Counter())
    for outcome in outcomes:
        if outcome.verdict is Verdict.UNANSWERED:
            answers.unanswered[str(outcome.reason)] += 1
        evidence = outcome.evidence
        if evidence is None or not outcome.verdict.counts:
            continue
        failed = outcome.verdict.is_failure
        asked = _Shown(evidence.question, evidence.right_answer, evidence.winner if failed else None)
        (answers.wrong if failed else answers.right)[outcome.fact.fact] = asked
    return answers


def _shown_facts(examined: pd.DataFrame, asked: Mapping[str, _Shown]) -> list[ShownFact]:
    facts = []
    for row in examined.to_dict("records"):
        shown = asked.get(row["fact"], _Shown("", row["object_label"], None))
        facts.append(
            ShownFact(
                fact=row["fact"],
                relation=row["relation_label"],
                subject=row["subject_label"],
                answer=shown.answer,
                right=int(row["right"]),
                wrong=int(row["wrong"]),
                theta=float(row["theta"]),
                low=float(row["low"]),
                high=float(row["high"]),
                belief=BeliefWord(row["belief"]),
                question=shown.question,
                winner=shown.winner,
            )
        )
    return facts


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    return dict(Counter(row["unaskable"] for row in rows if row["unaskable"] is not None).most_common())
