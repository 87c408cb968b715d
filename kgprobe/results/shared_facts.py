"""Several models on the facts that all of them have answered.

Rounds ask each model the facts that *it* fails on. Models with the same knowledge then have different rates; only the
facts that all were asked make them comparable.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from kgprobe.models.spec_forms import model_name, model_names
from kgprobe.probes.register import PROBES
from kgprobe.results.about import About
from kgprobe.stats.proportions import mean_share

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Share of right answers to a fact, where facts were asked several times.
RIGHT_SHARE = "share_right"


def answered_facts(name: str, answers: Answers) -> pd.DataFrame:
    """Return :meth:`~kgprobe.answers.table.Answers.by_fact`; raise KgprobeError if no fact has answers."""
    facts = answers.by_fact()
    if facts.empty:
        raise KgprobeError(f"{name!r} has no answers yet.")
    return facts


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
        abouts: the origins of the results, in the given order.
        models: the results in this order.
        answered: the facts that each result has answered; see :meth:`kgprobe.answers.table.Answers.by_fact`.
        unheard: reasons of each result's facts without answers, by fact.
        facts: ids of the facts that all have answered, sorted.
        relations: ids of their relations.
        known: True if a fact has more right answers than wrong ones, shape (models, facts).
        values: other measures that all probes have, by name, shape (models, facts) each; NaN where a fact has none.
        caveat: the facts that the rates refer to; shown with every rate.
        leads: name of the leading measure; empty for the win rate.
    """

    abouts: Sequence[About]
    models: Sequence[ComparedModel]
    answered: Sequence[pd.DataFrame]
    unheard: Sequence[Mapping[str, str]]
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

    def rows(self, chosen: Bools) -> Iterator[tuple[Any, ...]]:
        """Yield each chosen fact with each result's row of it."""
        facts = np.array(self.facts, dtype=object)[chosen].tolist()
        return zip(facts, *(own.loc[facts].to_dict("records") for own in self.answered), strict=True)

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


def find_shared_facts(results: Sequence[tuple[About, Answers]]) -> SharedFacts:
    """Return results of any probes on one graph, at least one, over the facts that all of them have answered.

    Raises:
        KgprobeError: a result has no answers.
    """
    abouts = [about for about, _ in results]
    answered = [answered_facts(about.name, answers) for about, answers in results]
    shared = sorted(set.intersection(*(set(own.index) for own in answered)))
    measures = []
    for own, (_, answers) in zip(answered, results, strict=True):
        measured, asked = answers.means().loc[shared], own["right"] + own["wrong"]
        if (asked > 1).any():
            measured[RIGHT_SHARE] = own["right"] / asked
        measures.append(measured.dropna(axis="columns", how="all"))
    names = [name for name in measures[0] if all(name in measured for measured in measures)]
    values = {name: np.array([measured[name] for measured in measures], dtype=np.float64) for name in names}
    lead, *others = {PROBES.get(about.probe).leads for about in abouts}
    leads = lead if not others and lead in values else ""
    models, known = [], []
    for place, (label, about, own) in enumerate(zip(labels_of(abouts), abouts, answered, strict=True)):
        facts = own.loc[shared]
        known.append((facts["right"] > facts["wrong"]).to_numpy(bool))
        compared = ComparedModel(label, about.name, about.model, about.probe, len(own), len(shared))
        if shared:
            rates = group_of("shared", facts)
            guessed, zero = rates.guessed, rates.zero_sense_rate
            means = _means({name: of_models[place] for name, of_models in values.items()}, leads)
            compared = replace(compared, win_rate=rates.win_rate, zero_sense_rate=zero, guessed=guessed, means=means)
        models.append(compared)
    return SharedFacts(
        abouts=abouts,
        models=models,
        answered=answered,
        unheard=[answers.unheard() for _, answers in results],
        facts=shared,
        relations=answered[0].loc[shared, "relation"].tolist(),
        known=np.array(known),
        values=values,
        caveat=_caveat(abouts, len(shared)),
        leads=leads,
    )


def _means(values: Mapping[str, Floats], leads: str) -> dict[str, Share | float]:
    """Return means of measures without NaN; the leading one has an interval."""
    means: dict[str, Share | float] = {}
    for name, own in values.items():
        measured = own[~np.isnan(own)]
        if len(measured):
            means[name] = mean_share(measured.tolist()) if name == leads else float(measured.mean())
    return means


def labels_of(abouts: Sequence[About]) -> list[str]:
    """Return distinct names of results: a name that a user gave, else the model; where they repeat, more of both."""
    has_directions = len({about.reversed for about in abouts}) == 2
    has_languages = len({about.ask_in for about in abouts}) > 1
    models = model_names([about.model for about in abouts])
    forms = []
    for place, (model, about) in enumerate(zip(models, abouts, strict=True), start=1):
        way = (f" {about.direction}" if has_directions else "") + (f" {about.in_language}" if has_languages else "")
        name = f"{given_name(about.name) or model}{way}"
        with_name = f"{model}{way} ({about.name})"
        forms.append((name, f"{name} by {about.probe}", with_name, f"{with_name} #{place}"))
    columns = list(zip(*forms, strict=True))
    labels = []
    for own in forms:
        unique = [form for form, column in zip(own, columns, strict=True) if column.count(form) == 1]
        labels.append(unique[0])
    return labels


def _caveat(abouts: Sequence[About], shared: int) -> str:
    if not shared:
        return (
            "No fact was asked of all of them, so their rates cannot be compared: each is over other facts. Measure"
            " all models on the same facts: the same list, or the same seed."
        )
    text = f"Rates are over the {shared:,} facts that all of them were asked"
    if any(about.caveat for about in abouts):
        return f"{text}; these were asked because a model probably fails on them, and are not a sample of the graph."
    return f"{text}."
