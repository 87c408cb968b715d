"""The finding of a run: what a model knows of the facts it was asked, with intervals.

docs/methods.md, 2. Metrics count a fact's own answers only; what neighbours propagated moves E[theta], by which facts
are ranked, but never the win rate or the zero-sense rate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from kgprobe.beliefs.draw import credible_interval
from kgprobe.beliefs.rounds import get_run
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row

# Of shares; the two-sided confidence of Wilson's score interval.
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """A share of facts, with its 95% Wilson interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Group:
    """What a model did on some facts.

    Attributes:
        facts: how many were asked.
        win_rate: share with more own right answers than wrong ones.
        zero_sense_rate: share never answered right.
    """

    name: str
    facts: int
    win_rate: Share
    zero_sense_rate: Share


@dataclass(frozen=True, slots=True)
class Judged:
    """A fact, what the model did on it, and how sure that makes us.

    Attributes:
        theta: E[theta], the probability that the model fails on the fact.
        low, high: 90% credible interval of theta.
        prompt: the latest question that went as the fact is listed: a known fact's that the model got right, an
            unknown one's that it got wrong.
        winner: of an unknown fact, the strongest rival in that question, where the probe names one; else None.
    """

    fact: str
    relation: str
    subject: str
    object: str
    right: int
    wrong: int
    theta: float
    low: float
    high: float
    prompt: str
    winner: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one run found.

    Attributes:
        chance: how often guessing at random would be right, over the questions asked; None where nothing says so.
        overall: all asked facts.
        relations: one group a relation, most facts first, then by id.
        unknown: facts most surely unknown, E[theta] above 0.5, the highest lower bound of theta first.
        known: facts most surely known, E[theta] below 0.5, the lowest upper bound of theta first.
        unaskable: how many facts could not be asked, by reason.
    """

    run: str
    model: str
    probe: str
    as_of: int
    seed: int
    rounds: int
    config: str
    versions: str
    chance: float | None
    asked: int
    overall: Group
    relations: Sequence[Group]
    unknown: Sequence[Judged]
    known: Sequence[Judged]
    unaskable: Mapping[str, int]


class _Shown(NamedTuple):
    """A question as a finding shows it, and the rival that won."""

    prompt: str
    winner: str | None


def find(graph: Graph, run: str, outcomes: Iterable[Mapping[str, Any]], shown: int = 20) -> Finding:
    """The finding of a run.

    Args:
        run: its id.
        outcomes: its audit trail, in the order of asking.
        shown: how many facts to list as known and as unknown, at most each.

    Raises:
        KgprobeError: the run has asked nothing yet.
        UnknownNameError: there is no such run.
    """
    properties = get_run(graph, run)
    rows = graph.read("beliefs/examined", run=run)
    examined = pd.DataFrame([row for row in rows if row["right"] + row["wrong"] > 0])
    if examined.empty:
        raise KgprobeError(f"Run {run!r} has not got an answer yet.")
    names = _relation_names(graph, examined["relation"].unique())
    examined["name"] = examined["relation"].map(names)
    examined["low"], examined["high"] = credible_interval(examined["alpha"], examined["beta"])
    right, wrong, chances = _latest(outcomes)
    theta = examined["alpha"] / (examined["alpha"] + examined["beta"])
    own = examined["wrong"] - examined["right"]
    # What neighbours propagated can outweigh a fact's own answers: of such a fact one is not sure either way.
    unknown = examined[(own > 0) & (theta > 0.5)].sort_values(["low", "fact"], ascending=[False, True])
    known = examined[(own < 0) & (theta < 0.5)].sort_values(["high", "fact"])
    groups = [_group(names[str(relation)], part) for relation, part in examined.groupby("relation", sort=True)]
    return Finding(
        run=run,
        model=properties["model"],
        probe=properties["probe"],
        as_of=properties["as_of"],
        seed=properties["seed"],
        rounds=properties["round"],
        config=properties["config"],
        versions=properties["versions"],
        chance=float(np.mean(chances)) if chances else None,
        asked=properties["asked"],
        overall=_group("all", examined),
        relations=sorted(groups, key=lambda group: -group.facts),
        unknown=_judged(unknown.head(shown), wrong),
        known=_judged(known.head(shown), right),
        unaskable=_reasons(rows),
    )


def share(count: int, total: int) -> Share:
    """A share and its Wilson interval; ``total`` is at least 1."""
    interval = stats.binomtest(count, total).proportion_ci(CONFIDENCE, method="wilson")
    return Share(count / total, float(interval.low), float(interval.high))


def _relation_names(graph: Graph, relations: Iterable[str]) -> dict[str, str]:
    """What to call each relation: its label, with the id where others have the same."""
    known = {row["id"]: row["label"] for row in graph.read("sample/relations")}
    labels = {relation: known.get(relation) or relation for relation in relations}
    often = Counter(labels.values())
    return {relation: f"{label} ({relation})" if often[label] > 1 else label for relation, label in labels.items()}


def _group(name: str, examined: pd.DataFrame) -> Group:
    wins = int((examined["right"] > examined["wrong"]).sum())
    never = int((examined["right"] == 0).sum())
    return Group(name, len(examined), share(wins, len(examined)), share(never, len(examined)))


def _latest(outcomes: Iterable[Mapping[str, Any]]) -> tuple[dict[str, _Shown], dict[str, _Shown], list[float]]:
    """Each fact's latest question that went right and that went wrong, and the chance level of every question."""
    right: dict[str, _Shown] = {}
    wrong: dict[str, _Shown] = {}
    chances = []
    for outcome in outcomes:
        if outcome["verdict"] == "unaskable":
            continue
        evidence = outcome["evidence"]
        if outcome["verdict"] == "wrong":
            wrong[outcome["fact"]] = _Shown(outcome["prompt"], evidence.get("winner"))
        else:
            right[outcome["fact"]] = _Shown(outcome["prompt"], None)
        if evidence.get("chance") is not None:
            chances.append(evidence["chance"])
    return right, wrong, chances


def _judged(examined: pd.DataFrame, asked: Mapping[str, _Shown]) -> list[Judged]:
    judged = []
    for row in examined.to_dict("records"):
        shown = asked.get(row["fact"], _Shown("", None))
        judged.append(
            Judged(
                fact=row["fact"],
                relation=row["name"],
                subject=row["subject_label"],
                object=row["object_label"],
                right=int(row["right"]),
                wrong=int(row["wrong"]),
                theta=row["alpha"] / (row["alpha"] + row["beta"]),
                low=float(row["low"]),
                high=float(row["high"]),
                prompt=shown.prompt,
                winner=shown.winner,
            )
        )
    return judged


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    reasons = pd.Series([row["unaskable"] for row in rows if row["unaskable"] is not None], dtype=object)
    return {str(reason): int(count) for reason, count in reasons.value_counts().items()}
