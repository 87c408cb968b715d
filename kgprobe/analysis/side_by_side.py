"""Models side by side, over the facts that all of them were asked.

Rounds ask each model what *it* fails on. Three models that know as much then have three rates, none of which says how
much they know: only facts that were asked of all of them set them side by side.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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

# How many answers to a fact were right, where facts were asked several times.
RIGHT_SHARE = "share_right"


@dataclass(frozen=True, slots=True)
class AnsweredFacts:
    """What one model did on each fact that it answered.

    Attributes:
        name: of the run or measurement.
        model: its spec.
        sampling: how a run chose its facts; None of a measurement.
        reversed: whether the facts were asked from object to subject.
        facts: by fact: subject, relation; own answers right, wrong, and of the wrong ones refused, off_format; guessed,
            how probably a guesser would win it; question, right_answer and prediction (None for what is right) of the
            latest ask that went as the fact went.
        values: by fact: the means of what its probe measures beside right and wrong; NaN where it has none.
        unheard: by fact: why it has no answer, of facts that could not be asked or that got none.
        leads: the one of the values that leads; empty for the win rate.
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
class Side:
    """One of several that are compared.

    Attributes:
        label: what it is called among the others: its model, with its name where several are of one model.
        asked: how many facts it has answered.
        shared: what the model did on the facts that all have answered; None where there are none.
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
        sides: as they came.
        facts: ids of the facts that all have answered, sorted.
        subjects, relations: of these, ids.
        won: whether there are more right answers than wrong ones, shape (sides, facts).
        values: what all probes measure beside, by name, shape (sides, facts) each; NaN where a fact has none.
        leads: the one of the values that leads; empty for the win rate.
        caveat: what the rates speak of, to stand beside them wherever they stand.
    """

    sides: Sequence[Side]
    facts: Sequence[str]
    subjects: Sequence[str]
    relations: Sequence[str]
    won: Bools
    values: Mapping[str, Floats]
    caveat: str
    leads: str = ""

    @property
    def best_first(self) -> list[Side]:
        """The sides by their rates, the best first; as they came where nothing is shared."""
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
    """Put together what outcomes tell of each fact.

    Cost: one pass over the outcomes. Memory: the answered facts, with a question each.

    Args:
        values_of: what the probe measures of an outcome's evidence beside right and wrong.
        leads: the one of these that leads; empty for the win rate.
        is_reversed: whether a reversed graph was asked.

    Raises:
        KgprobeError: there is no answer.
    """
    rows: dict[str, dict[str, Any]] = {}
    chances: dict[str, list[float]] = {}
    values: dict[str, list[Mapping[str, float]]] = {}
    latest: dict[tuple[str, bool], tuple[str, str, str | None]] = {}
    unheard: dict[str, str] = {}
    for outcome in outcomes:
        if not outcome.verdict.counts:
            unheard[outcome.fact.fact] = outcome.reason or outcome.verdict.value
            continue
        fact, verdict = outcome.fact.fact, outcome.verdict
        row = rows.setdefault(fact, {"subject": outcome.fact.subject, "relation": outcome.relation})
        for column, counts in _COUNTS.items():
            row[column] = row.get(column, 0) + (verdict in counts)
        evidence = outcome.evidence
        if evidence is None:
            continue
        latest[fact, verdict is Verdict.RIGHT] = (evidence.question, evidence.right_answer, evidence.prediction)
        if evidence.chance is not None:
            chances.setdefault(fact, []).append(evidence.chance)
        values.setdefault(fact, []).append(values_of(evidence))
    if not rows:
        raise KgprobeError(f"{name!r} has not got an answer yet.")
    for fact, row in rows.items():
        row["guessed"] = more_than_half(chances.get(fact, ()))
        asked = latest.get((fact, row["right"] > row["wrong"]), ("", "", None))
        row["question"], row["right_answer"], row["prediction"] = asked
    told = pd.DataFrame.from_dict(rows, orient="index").sort_index()
    # A column of texts would have a number in place of None.
    told["prediction"] = pd.Series([rows[fact]["prediction"] for fact in told.index], told.index, dtype=object)
    means = pd.DataFrame(
        [{name: np.mean([one[name] for one in its]) for name in its[0]} for its in values.values()], index=list(values)
    ).reindex(told.index)
    often = told["right"] + told["wrong"]
    if (often > 1).any():
        means[RIGHT_SHARE] = told["right"] / often
    silent = {fact: reason for fact, reason in unheard.items() if fact not in rows}
    return AnsweredFacts(name, model, probe, sampling, told, means, is_reversed, silent, leads)


def set_side_by_side(answered: Sequence[AnsweredFacts]) -> SideBySide:
    """What several models did on the facts that each of them has answered.

    Args:
        answered: at least one, on one graph; by whatever probe.
    """
    first = answered[0].facts
    shared = sorted(set(first.index).intersection(*(one.facts.index for one in answered[1:])))
    common = [one.facts.loc[shared] for one in answered]
    sides = [
        Side(
            label,
            one.name,
            one.model,
            one.probe,
            len(one.facts),
            group_of("shared", its) if shared else None,
        )
        for label, one, its in zip(labels_of(answered), answered, common, strict=True)
    ]
    values = [one.values.loc[shared].dropna(axis="columns", how="all") for one in answered]
    measured = [str(name) for name in values[0].columns if all(name in its.columns for its in values)]
    leads = list({one.leads for one in answered})
    return SideBySide(
        sides,
        shared,
        first.loc[shared, "subject"].tolist(),
        first.loc[shared, "relation"].tolist(),
        np.array([(its["right"] > its["wrong"]).to_numpy() for its in common], dtype=bool),
        {name: np.array([its[name] for its in values], dtype=np.float64) for name in measured},
        _caveat(answered, len(shared)),
        leads[0] if len(leads) == 1 and leads[0] in measured else "",
    )


_COUNTS = {
    "right": {Verdict.RIGHT},
    "wrong": {verdict for verdict in Verdict if verdict.is_failure},
    "refused": {Verdict.REFUSED},
    "off_format": {Verdict.OFF_FORMAT},
}


def labels_of(answered: Sequence[AnsweredFacts]) -> list[str]:
    """What each is called, no two alike: its model, and what it takes of direction, probe, name and place."""
    called = [model_name(one.model) for one in answered]
    if len({one.reversed for one in answered}) == 2:
        called = [f"{model} {one.direction}" for model, one in zip(called, answered, strict=True)]
    often, asked = Counter(called), Counter(zip(called, (one.probe for one in answered), strict=True))
    told = []
    for model, one in zip(called, answered, strict=True):
        if often[model] == 1:
            told.append(model)
        else:
            told.append(f"{model} by {one.probe}" if asked[model, one.probe] == 1 else f"{model} ({one.name})")
    often = Counter(told)
    return [f"{label} #{place}" if often[label] > 1 else label for place, label in enumerate(told, start=1)]


def _caveat(answered: Sequence[AnsweredFacts], shared: int) -> str:
    if not shared:
        return (
            "No fact was asked of all of them, so their rates cannot be compared: each speaks of other facts. Measure"
            " all models on the same facts: the same list, or the same seed."
        )
    told = f"Rates are over the {shared:,} facts that all of them were asked"
    if any(caveat_of(one.sampling) for one in answered):
        return f"{told}; these were asked because a model probably fails on them, and are no sample of the graph."
    return f"{told}."
