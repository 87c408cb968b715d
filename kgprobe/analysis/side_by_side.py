"""Models compared over the facts that all of them were asked.

Rounds ask each model the facts that *it* fails on. Models with the same knowledge then have different rates; only the
facts that all were asked make them comparable.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kgprobe.analysis.rates import Group, caveat_of, group_of
from kgprobe.errors import KgprobeError
from kgprobe.models.spec_forms import model_name
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.stats.proportions import more_than_half

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Share of right answers to a fact, where facts were asked several times.
RIGHT_SHARE = "share_right"
_COUNTS = {
    "right": {Verdict.RIGHT},
    "wrong": {verdict for verdict in Verdict if verdict.is_failure},
    "refused": {Verdict.REFUSED},
    "off_format": {Verdict.OFF_FORMAT},
}


@dataclass(frozen=True, slots=True)
class AnsweredFacts:
    """The answers of one model, by fact.

    Attributes:
        name: name of the run or measurement.
        model: its spec.
        sampling: sampling rule of a run; None for a measurement.
        facts: by fact: subject, relation; numbers of own answers: right, wrong, and among the wrong ones refused,
            off_format; guessed, a guesser's probability to win it; question, right_answer and prediction (None if
            right) of the latest question that agrees with the fact's verdict.
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


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """One of the compared results.

    Attributes:
        label: its model, with its name where several results are of one model.
        asked: number of facts that it has answered.
        shared: rates of the facts that all have answered; None where there are none.
    """

    label: str
    name: str
    model: str
    probe: str
    asked: int
    shared: Group | None


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Several models over the same facts.

    Attributes:
        sides: the results in the given order.
        facts: ids of the facts that all have answered, sorted.
        subjects, relations: ids of their subjects and relations.
        won: True if a fact has more right answers than wrong ones, shape (sides, facts).
        values: other measures that all probes have, by name, shape (sides, facts) each; NaN where a fact has none.
        caveat: the facts that the rates refer to; shown with every rate.
        leads: name of the leading measure; empty for the win rate.
    """

    sides: Sequence[ComparedModel]
    facts: Sequence[str]
    subjects: Sequence[str]
    relations: Sequence[str]
    won: Bools
    values: Mapping[str, Floats]
    caveat: str
    leads: str = ""

    @property
    def best_first(self) -> list[ComparedModel]:
        """The sides by decreasing rate; in the given order if they share no facts."""
        return sorted(self.sides, key=lambda side: -side.shared.win_rate.value if side.shared else 0)


def read_answers(
    name: str,
    model: str,
    probe: str,
    sampling: str | None,
    outcomes: Iterable[Outcome],
    values_of: Callable[[Any], Mapping[str, float]],
    *,
    leads: str = "",
    is_reversed: bool = False,
) -> AnsweredFacts:
    """Collect outcomes by fact.

    Cost: one pass over the outcomes. Memory: the answered facts, with one question each.

    Args:
        values_of: returns the probe's other measures in an outcome's evidence.
        leads: name of the leading measure; empty for the win rate.
        is_reversed: True if the graph is reversed.

    Raises:
        KgprobeError: outcomes have no answers.
    """
    rows: dict[str, dict[str, Any]] = {}
    chances: defaultdict[str, list[float]] = defaultdict(list)
    values: defaultdict[str, list[Mapping[str, float]]] = defaultdict(list)
    latest: dict[tuple[str, bool], tuple[str, str, str | None]] = {}
    unheard: dict[str, str] = {}
    for outcome in outcomes:
        fact, verdict, evidence = outcome.fact.fact, outcome.verdict, outcome.evidence
        if not verdict.counts:
            unheard[fact] = outcome.reason or verdict.value
            continue
        empty = {"subject": outcome.fact.subject, "relation": outcome.relation, **dict.fromkeys(_COUNTS, 0)}
        row = rows.setdefault(fact, empty)
        for column, verdicts in _COUNTS.items():
            row[column] += verdict in verdicts
        if evidence is None:
            continue
        latest[fact, verdict is Verdict.RIGHT] = (evidence.question, evidence.right_answer, evidence.prediction)
        if evidence.chance is not None:
            chances[fact].append(evidence.chance)
        values[fact].append(values_of(evidence))
    if not rows:
        raise KgprobeError(f"{name!r} has no answers yet.")
    facts = pd.DataFrame.from_dict(rows, orient="index").sort_index()
    facts["guessed"] = [more_than_half(chances[fact]) for fact in facts.index]
    asks = zip(facts.index, facts["right"] > facts["wrong"], strict=True)
    questions = [latest.get(ask, ("", "", None)) for ask in asks]
    facts[["question", "right_answer", "prediction"]] = pd.DataFrame(questions, facts.index, dtype=object)
    silent = {fact: reason for fact, reason in unheard.items() if fact not in rows}
    return AnsweredFacts(name, model, probe, sampling, facts, _means(values, facts), is_reversed, silent, leads)


def _means(values: Mapping[str, Sequence[Mapping[str, float]]], facts: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each measure by fact, and the share of right answers if facts were asked several times."""
    means: pd.DataFrame = pd.DataFrame(map(_mean, values.values()), index=list(values)).reindex(facts.index)
    answers = facts["right"] + facts["wrong"]
    if (answers > 1).any():
        means[RIGHT_SHARE] = facts["right"] / answers
    return means


def _mean(measured: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    return {name: np.mean(list(map(itemgetter(name), measured))) for name in measured[0]}


def set_side_by_side(answered: Sequence[AnsweredFacts]) -> SideBySide:
    """Compare several results over the facts that all of them have answered.

    Args:
        answered: at least one result, all on one graph, by any probes.
    """
    first = answered[0].facts
    shared = sorted(set(first.index).intersection(*(result.facts.index for result in answered[1:])))
    common = [result.facts.loc[shared] for result in answered]
    sides = [
        ComparedModel(label, result.name, result.model, result.probe, len(result.facts), _rates(facts))
        for label, result, facts in zip(labels_of(answered), answered, common, strict=True)
    ]
    values = _shared_values(answered, shared)
    lead, *others = {result.leads for result in answered}
    return SideBySide(
        sides,
        shared,
        first.loc[shared, "subject"].tolist(),
        first.loc[shared, "relation"].tolist(),
        np.array([(facts["right"] > facts["wrong"]).to_numpy() for facts in common], dtype=bool),
        values,
        _caveat(answered, len(shared)),
        lead if not others and lead in values else "",
    )


def _shared_values(answered: Sequence[AnsweredFacts], shared: list[str]) -> dict[str, Floats]:
    """Return the measures that all results have on these facts, shape (results, facts) each."""
    frames = [result.values.loc[shared].dropna(axis="columns", how="all") for result in answered]
    names = frames[0].columns
    for frame in frames[1:]:
        names = names[names.isin(frame.columns)]
    return {str(name): np.array(list(map(itemgetter(name), frames)), dtype=np.float64) for name in names}


def _rates(facts: pd.DataFrame) -> Group | None:
    return group_of("shared", facts) if len(facts) else None


def labels_of(answered: Sequence[AnsweredFacts]) -> list[str]:
    """Return distinct names of results: the model, and where models repeat, direction, probe, name and number."""
    models = [model_name(result.model) for result in answered]
    if len({result.reversed for result in answered}) == 2:
        models = [f"{model} {result.direction}" for model, result in zip(models, answered, strict=True)]
    by_model = Counter(models)
    by_probe = Counter((model, result.probe) for model, result in zip(models, answered, strict=True))
    labels = []
    for model, result in zip(models, answered, strict=True):
        if by_model[model] == 1:
            labels.append(model)
        elif by_probe[model, result.probe] == 1:
            labels.append(f"{model} by {result.probe}")
        else:
            labels.append(f"{model} ({result.name})")
    by_label = Counter(labels)
    return [f"{label} #{place}" if by_label[label] > 1 else label for place, label in enumerate(labels, start=1)]


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
