"""Answers by fact, and several models on the facts that all of them have answered.

Rounds ask each model the facts that *it* fails on. Models with the same knowledge then have different rates; only the
facts that all were asked make them comparable.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Annotated, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.answers.settings import given_name
from kgprobe.answers.table import Answers
from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Percent, Share
from kgprobe.base.tables import Heading, ResultRow, Table
from kgprobe.beliefs.group_rates import group_of
from kgprobe.beliefs.register import caveat_of
from kgprobe.models.spec_forms import model_name, model_names
from kgprobe.stats.proportions import mean_share

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Share of right answers to a fact, where facts were asked several times.
RIGHT_SHARE = "share_right"


@dataclass(frozen=True, slots=True)
class AnsweredFacts:
    """The answers of one model, by fact.

    Attributes:
        sampling: sampling rule of a run; None for a measurement.
        facts: see :meth:`kgprobe.answers.table.Answers.by_fact`.
        values: by fact: means of the probe's other measures; NaN where it has none.
        reversed: True if the facts were asked from object to subject.
        unheard: reasons of facts without answers, by fact.
        leads: name of the leading measure; empty for the win rate.
    """

    name: str
    model: str
    probe: str
    sampling: str | None
    facts: pd.DataFrame = field(compare=False, repr=False)
    values: pd.DataFrame = field(compare=False, repr=False)
    reversed: bool = False
    unheard: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    leads: str = ""

    @property
    def direction(self) -> str:
        """``forwards`` or ``backwards``."""
        return "backwards" if self.reversed else "forwards"

    def rows(self, facts: Sequence[str]) -> list[dict[str, Any]]:
        """Return the rows of some facts."""
        rows: list[dict[str, Any]] = self.facts.loc[list(facts)].to_dict("records")
        return rows


def answered_facts(
    name: str,
    model: str,
    probe: str,
    sampling: str | None,
    answers: Answers,
    *,
    leads: str = "",
    is_reversed: bool = False,
) -> AnsweredFacts:
    """Return answers by fact; raise KgprobeError if there are none."""
    facts, values = answers.by_fact(), answers.means()
    if facts.empty:
        raise KgprobeError(f"{name!r} has no answers yet.")
    asked = facts["right"] + facts["wrong"]
    if (asked > 1).any():
        values[RIGHT_SHARE] = facts["right"] / asked
    return AnsweredFacts(name, model, probe, sampling, facts, values, is_reversed, answers.unheard(), leads)


@dataclass(frozen=True, slots=True)
class ComparedModel(ResultRow):
    """One of the compared results.

    Attributes:
        label: the name that a user gave it, else its model.
        asked: number of facts that it has answered.
        shared: number of facts that all have answered.
        win_rate, zero_sense_rate, guessed: rates over the shared facts; None where there are none.
        means: means of other measures that all probes have, over the shared facts; one that leads has an interval.
    """

    label: Annotated[str, Heading("result")]
    name: str
    model: Annotated[str, Heading("model", model_name)]
    probe: str
    asked: Annotated[int, Heading("asked")]
    shared: Annotated[int, Heading("shared")]
    win_rate: Annotated[Share | None, Heading("win rate")] = None
    zero_sense_rate: Annotated[Share | None, Heading("zero-sense rate")] = None
    guessed: Annotated[float | None, Heading("by guessing", Percent)] = None
    means: Mapping[str, Share | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """Several models over the facts that all of them have answered.

    Attributes:
        models: the results in the given order.
        facts: ids of the facts that all have answered, sorted.
        relations: ids of their relations.
        known: True if a fact has more right answers than wrong ones, shape (models, facts).
        values: other measures that all probes have, by name, shape (models, facts) each; NaN where a fact has none.
        caveat: the facts that the rates refer to; shown with every rate.
        leads: name of the leading measure; empty for the win rate.
    """

    models: Sequence[ComparedModel]
    facts: Sequence[str]
    relations: Sequence[str]
    known: Bools
    values: Mapping[str, Floats]
    caveat: str
    leads: str = ""

    @property
    def labels(self) -> list[str]:
        """Names of the models."""
        return [model.label for model in self.models]

    @property
    def best_first(self) -> list[ComparedModel]:
        """The models by decreasing rate; in the given order if they share no facts."""
        return sorted(self.models, key=lambda model: -model.win_rate.value if model.win_rate else 0)

    def table(self) -> Table:
        """Return the rates of the models, the best first."""
        return Table("models", "Side by side", side_by_side(self.best_first), [self.caveat])


def side_by_side(models: Sequence[ComparedModel]) -> list[dict[str, Any]]:
    """Return the rates of models as cells of a table."""
    rows = []
    names = model_names([model.model for model in models])
    for model, name in zip(models, names, strict=True):
        means = {measure.replace("_", " "): mean for measure, mean in model.means.items()}
        rows.append(model.cells() | {"model": name} | means)
    if all(row["result"] == row["model"] for row in rows):
        for row in rows:
            del row["result"]
    return rows


def find_shared_facts(answered: Sequence[AnsweredFacts]) -> SharedFacts:
    """Return results of any probes on one graph, at least one, over the facts that all of them have answered."""
    first = answered[0].facts
    shared = sorted(set(first.index).intersection(*map(attrgetter("facts.index"), answered)))
    values = _shared_values(answered, shared)
    lead, *others = set(map(attrgetter("leads"), answered))
    leads = lead if not others and lead in values else ""
    models, known = [], []
    for place, (label, result) in enumerate(zip(labels_of(answered), answered, strict=True)):
        facts = result.facts.loc[shared]
        known.append((facts["right"] > facts["wrong"]).to_numpy(bool))
        compared = ComparedModel(label, result.name, result.model, result.probe, len(result.facts), len(shared))
        if shared:
            rates = group_of("shared", facts)
            guessed, zero = rates.guessed, rates.zero_sense_rate
            means = _means({name: own[place] for name, own in values.items()}, leads)
            compared = replace(compared, win_rate=rates.win_rate, zero_sense_rate=zero, guessed=guessed, means=means)
        models.append(compared)
    relations = first.loc[shared, "relation"].tolist()
    return SharedFacts(models, shared, relations, np.array(known), values, _caveat(answered, len(shared)), leads)


def _shared_values(answered: Sequence[AnsweredFacts], shared: list[str]) -> dict[str, Floats]:
    """Return the measures that all results have on these facts, shape (results, facts) each."""
    frames = [result.values.loc[shared].dropna(axis="columns", how="all") for result in answered]
    names = frames[0].columns
    for frame in frames[1:]:
        names = names[names.isin(frame.columns)]
    return {str(name): np.array([frame[name] for frame in frames], dtype=np.float64) for name in names}


def labels_of(answered: Sequence[AnsweredFacts]) -> list[str]:
    """Return distinct names of results: a name that a user gave, else the model; where they repeat, more of both."""
    has_directions = len(set(map(attrgetter("reversed"), answered))) == 2
    models = model_names([result.model for result in answered])
    forms = []
    for place, (model, result) in enumerate(zip(models, answered, strict=True), start=1):
        direction = f" {result.direction}" if has_directions else ""
        name = f"{given_name(result.name) or model}{direction}"
        with_name = f"{model}{direction} ({result.name})"
        forms.append((name, f"{name} by {result.probe}", with_name, f"{with_name} #{place}"))
    columns = list(zip(*forms, strict=True))
    labels = []
    for own in forms:
        unique = [form for form, column in zip(own, columns, strict=True) if column.count(form) == 1]
        labels.append(unique[0])
    return labels


def _means(values: Mapping[str, Floats], leads: str) -> dict[str, Share | float]:
    """Return means of measures without NaN; the leading one has an interval."""
    means: dict[str, Share | float] = {}
    for name, own in values.items():
        measured = own[~np.isnan(own)]
        if len(measured):
            means[name] = mean_share(measured.tolist()) if name == leads else float(measured.mean())
    return means


def _caveat(answered: Sequence[AnsweredFacts], shared: int) -> str:
    if not shared:
        return (
            "No fact was asked of all of them, so their rates cannot be compared: each is over other facts. Measure"
            " all models on the same facts: the same list, or the same seed."
        )
    text = f"Rates are over the {shared:,} facts that all of them were asked"
    if any(caveat_of(result.sampling) for result in answered):
        return f"{text}; these were asked because a model probably fails on them, and are not a sample of the graph."
    return f"{text}."
