"""The finding of a run: what a model knows of the facts it was asked, with intervals.

docs/methods.md, 2. Metrics count a fact's own answers only; what neighbours propagated moves E[theta], by which facts
are ranked, but never the win rate or the zero-sense rate.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from kgprobe.analysis.answers import Answers, count_answers
from kgprobe.analysis.rates import Group, Grouping, by_year, group_of, grouped
from kgprobe.asking.rounds import get_run
from kgprobe.beliefs.draw import credible_interval
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row
from kgprobe.probes.outcome import Verdict

_YEAR = re.compile(r"[+-]?\d{4,}")


@dataclass(frozen=True, slots=True)
class Judged:
    """A fact, what the model did on it, and how sure that makes us.

    Attributes:
        answer: what is right, to ``question``: the object's label, those of all that is right, or yes or no.
        theta: E[theta], the probability that the model fails on the fact.
        low, high: 90% credible interval of theta.
        question: the latest that went as the fact is listed: a known fact's that the model got right, an unknown one's
            that it got wrong.
        winner: of an unknown fact, what the model preferred in that question: the strongest rival, or what it said.
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
    question: str
    winner: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What one run found.

    Attributes:
        chance: how often guessing at random would be right, over the questions asked; None where nothing says so.
        theta: the mean of E[theta] over the asked facts.
        overall: all asked facts.
        groupings: the same by relation, by entity (a fact counts for its subject and its object), by the subject's
            types, and by year; without those in which no fact has a group.
        answers: by kind of question, and the errors.
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
    sampling: str
    config: str
    versions: str
    chance: float | None
    asked: int
    theta: float
    overall: Group
    groupings: Sequence[Grouping]
    answers: Answers
    unknown: Sequence[Judged]
    known: Sequence[Judged]
    unaskable: Mapping[str, int]


class _Shown(NamedTuple):
    """A question as a finding shows it: what is right, if not the fact's object, and what won."""

    question: str
    answer: str | None
    winner: str | None


def find(
    graph: Graph,
    run: str,
    outcomes: Callable[[], Iterable[Mapping[str, Any]]],
    *,
    year_relation: str | None = None,
    shown: int = 20,
) -> Finding:
    """The finding of a run.

    Args:
        run: its id.
        outcomes: gives its audit trail, in the order of asking.
        year_relation: id of the relation whose date at the subject gives a fact's year; None takes the year in which
            the fact began.
        shown: how many facts to list as known and as unknown, at most each.

    Raises:
        KgprobeError: the run has asked nothing yet.
        UnknownNameError: there is no such run.
    """
    properties = get_run(graph, run)
    rows = graph.read("beliefs/examined", run=run, year_relation=year_relation)
    examined = pd.DataFrame([row for row in rows if row["right"] + row["wrong"] > 0])
    if examined.empty:
        raise KgprobeError(f"Run {run!r} has not got an answer yet.")
    names = _relation_names(graph, examined["relation"].unique())
    examined["name"] = examined["relation"].map(names)
    examined["low"], examined["high"] = credible_interval(examined["alpha"], examined["beta"])
    right, wrong, chances = _latest(outcomes())
    theta = examined["alpha"] / (examined["alpha"] + examined["beta"])
    own = examined["wrong"] - examined["right"]
    # What neighbours propagated can outweigh a fact's own answers: of such a fact one is not sure either way.
    unknown = examined[(own > 0) & (theta > 0.5)].sort_values(["low", "fact"], ascending=[False, True])
    known = examined[(own < 0) & (theta < 0.5)].sort_values(["high", "fact"])
    return Finding(
        run=run,
        model=properties["model"],
        probe=properties["probe"],
        as_of=properties["as_of"],
        seed=properties["seed"],
        rounds=properties["round"],
        sampling=properties["sampling"],
        config=properties["config"],
        versions=properties["versions"],
        chance=float(np.mean(chances)) if chances else None,
        asked=properties["asked"],
        theta=float(theta.mean()),
        overall=group_of("all", examined),
        groupings=[one for one in _groupings(examined, names) if one.groups],
        answers=count_answers(outcomes()),
        unknown=_judged(unknown.head(shown), wrong),
        known=_judged(known.head(shown), right),
        unaskable=_reasons(rows),
    )


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
        by_year(examined, examined["year"].map(year_of)),
    ]


def year_of(date: str | None) -> int | None:
    """The year of a date in ISO 8601, such as ``2011-05``, ``-0044`` or ``+2011-05-01T00:00:00Z``; None without one."""
    found = _YEAR.match(date) if isinstance(date, str) else None
    return int(found[0]) if found else None


def _relation_names(graph: Graph, relations: Iterable[str]) -> dict[str, str]:
    """What to call each relation: its label, with the id where others have the same."""
    known = {row["id"]: row["label"] for row in graph.read("sample/relations")}
    labels = {relation: known.get(relation) or relation for relation in relations}
    often = Counter(labels.values())
    return {relation: f"{label} ({relation})" if often[label] > 1 else label for relation, label in labels.items()}


def _latest(outcomes: Iterable[Mapping[str, Any]]) -> tuple[dict[str, _Shown], dict[str, _Shown], list[float]]:
    """Each fact's latest question that went right and that went wrong, and the chance level of every question."""
    right: dict[str, _Shown] = {}
    wrong: dict[str, _Shown] = {}
    chances = []
    for outcome in outcomes:
        verdict = Verdict(outcome["verdict"])
        evidence = outcome["evidence"]
        asked = evidence.get("question") or f"{outcome['prompt']} …"
        answer = _answer(evidence)
        if verdict.is_failure:
            wrong[outcome["fact"]] = _Shown(asked, answer, evidence.get("winner"))
        elif verdict is Verdict.RIGHT:
            right[outcome["fact"]] = _Shown(asked, answer, None)
        else:
            continue
        if evidence.get("chance") is not None:
            chances.append(evidence["chance"])
    return right, wrong, chances


def _answer(evidence: Mapping[str, Any]) -> str | None:
    """What is right to a question: yes or no, or all that is; None if only the fact's object is."""
    if "expected" in evidence:
        return "yes" if evidence["expected"] else "no"
    return "; ".join(one["names"][0] for one in evidence.get("right", ())) or None


def _judged(examined: pd.DataFrame, asked: Mapping[str, _Shown]) -> list[Judged]:
    judged = []
    for row in examined.to_dict("records"):
        shown = asked.get(row["fact"], _Shown("", None, None))
        judged.append(
            Judged(
                fact=row["fact"],
                relation=row["name"],
                subject=row["subject_label"],
                answer=shown.answer or row["object_label"],
                right=int(row["right"]),
                wrong=int(row["wrong"]),
                theta=row["alpha"] / (row["alpha"] + row["beta"]),
                low=float(row["low"]),
                high=float(row["high"]),
                question=shown.question,
                winner=shown.winner,
            )
        )
    return judged


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    reasons = pd.Series([row["unaskable"] for row in rows if row["unaskable"] is not None], dtype=object)
    return {str(reason): int(count) for reason, count in reasons.value_counts().items()}
