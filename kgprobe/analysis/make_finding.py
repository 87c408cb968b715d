"""Findings from the answers of a run or a measurement.

docs/methods/findings.md.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from kgprobe.analysis.finding import FACT_COLUMNS, About, Finding, ShownFact
from kgprobe.analysis.graph_rates import GraphRates
from kgprobe.analysis.rates import Grouping, by_popularity, by_year, group_of, grouped
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.beliefs.summary import summarize
from kgprobe.dates import year_of
from kgprobe.errors import KgprobeError
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.names import relation_names
from kgprobe.probes.outcome import Outcome, ProbeResults, Verdict, guessing_chance
from kgprobe.probes.register import PROBES
from kgprobe.running.runs import get_run
from kgprobe.stats.proportions import more_than_half
from kgprobe.tables import Table

if TYPE_CHECKING:
    from kgprobe.sampling.keys import FactKey

_FACTS_AT_ONCE = 1_000
_COUNTED = ("right", "wrong", "refused", "off_format")


class _Shown(NamedTuple):
    """A question as a finding shows it."""

    question: str
    answer: str
    prediction: str | None


@dataclass(frozen=True, slots=True)
class _Answers:
    """Each fact's latest right and wrong question and chance levels, and the reasons of unanswered questions."""

    right: dict[str, _Shown] = field(default_factory=dict)
    wrong: dict[str, _Shown] = field(default_factory=dict)
    chances: dict[str, list[float]] = field(default_factory=dict)
    unanswered: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        """Add an outcome, in the order of asking."""
        if outcome.verdict is Verdict.UNANSWERED:
            self.unanswered[str(outcome.reason)] += 1
        evidence = outcome.evidence
        if evidence is None or not outcome.verdict.counts:
            return
        failed = outcome.verdict.is_failure
        shown = _Shown(evidence.question, evidence.right_answer, evidence.prediction if failed else None)
        (self.wrong if failed else self.right)[outcome.fact.fact] = shown
        if evidence.chance is not None:
            self.chances.setdefault(outcome.fact.fact, []).append(evidence.chance)


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts of each fact's answers, by its key."""

    rows: dict["FactKey", Row] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count an outcome."""
        row = self.rows.setdefault(
            outcome.fact, {**outcome.fact._asdict(), **dict.fromkeys(_COUNTED, 0), "chances": [], "unaskable": None}
        )
        row["right"] += outcome.verdict is Verdict.RIGHT
        row["wrong"] += outcome.verdict.is_failure
        row["refused"] += outcome.verdict is Verdict.REFUSED
        row["off_format"] += outcome.verdict is Verdict.OFF_FORMAT
        chance = guessing_chance(outcome)
        row["chances"] += [] if chance is None else [chance]
        if outcome.verdict is Verdict.UNASKABLE:
            row["unaskable"] = outcome.reason


def find_in_run(
    graph: Graph,
    run: str,
    outcomes: Callable[[], Iterable[Outcome]],
    *,
    over_graph: GraphRates | None = None,
    year_relation: str | None = None,
    shown: int = 20,
) -> Finding:
    """Return the finding of a run.

    Args:
        run: id of the run.
        outcomes: returns its outcomes in the order of asking; called once.
        over_graph: estimated rates over the whole graph.
        year_relation: id of the relation whose date at the subject gives a fact's year; None takes the year in which
            the fact began.
        shown: maximum number of facts to list as known, and as unknown.

    Raises:
        KgprobeError: the run has no answers yet.
        UnknownNameError: the run does not exist.
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
    _check_answered(about, rows)
    answers = _Answers()
    results = PROBES.get(about.probe).results_of(outcomes(), about.described, answers.add)
    return replace(_find(graph, about, rows, answers, results, year_relation, shown), over_graph=over_graph)


def find_in_outcomes(
    graph: Graph,
    about: About,
    outcomes: Callable[[], Iterable[Outcome]],
    *,
    year_relation: str | None = None,
    shown: int = 20,
) -> Finding:
    """Return the finding of a measurement, in which beliefs follow from each fact's own answers.

    Arguments and errors as in :func:`find_in_run`.
    """
    counts, answers = _Counts(), _Answers()
    results = PROBES.get(about.probe).results_of(outcomes(), about.described, counts.add, answers.add)
    rows = _counted_beliefs(list(counts.rows.values()))
    _check_answered(about, rows)
    return _find(graph, about, rows, answers, results, year_relation, shown)


def _check_answered(about: About, rows: Sequence[Row]) -> None:
    """Raise an error if no fact has an answer."""
    if not any(row["right"] + row["wrong"] for row in rows):
        raise KgprobeError(f"{about.name!r} has no answers yet.")


def _counted_beliefs(answers: Sequence[Row]) -> list[Row]:
    """Return answers with the beliefs that follow from their counts."""
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
    answers: _Answers,
    results: ProbeResults,
    year_relation: str | None,
    shown: int,
) -> Finding:
    answered = sorted((row for row in rows if row["right"] + row["wrong"] > 0), key=lambda row: str(row["fact"]))
    examined = _described(graph, answered, year_relation)
    names = relation_names(graph, examined["relation"].unique())
    examined["relation_label"] = examined["relation"].map(names)
    # A fact is won by more right answers than wrong ones, by a guesser too.
    examined["guessed"] = [more_than_half(answers.chances.get(fact, ())) for fact in examined["fact"]]
    chances = list(chain.from_iterable(answers.chances.values()))
    words = [BeliefWord(word) for word in examined["belief"]]
    unknown, known = _by_certainty(examined, words)
    return Finding(
        about=about,
        chance=float(np.mean(chances)) if chances else None,
        asked=int((examined["right"] + examined["wrong"]).sum()),
        theta=float(examined["theta"].mean()),
        overall=group_of("all", examined),
        groupings=[grouping for grouping in _groupings(examined, names) if grouping.groups],
        tables=_with_caveat(list(results.tables), about.caveat),
        unknown=_shown_facts(unknown.head(shown), answers.wrong),
        known=_shown_facts(known.head(shown), answers.right),
        believed={word: words.count(word) for word in BeliefWord},
        facts=examined[list(FACT_COLUMNS)].reset_index(drop=True),
        unaskable=_reasons(rows),
        unanswered=dict(answers.unanswered.most_common()),
        measure=results.headline,
    )


def _with_caveat(tables: list[Table], caveat: str | None) -> list[Table]:
    if caveat is None:
        return tables
    return [replace(table, notes=(*table.notes, caveat)) for table in tables]


def _by_certainty(examined: pd.DataFrame, words: Sequence[BeliefWord]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return unknown and known facts, those that are sure first, then by their credible interval."""
    ranked = examined.assign(leans=[not word.is_sure for word in words])
    is_known = np.array([word.is_known for word in words])
    unknown = ranked[~is_known].sort_values(["leans", "low", "fact"], ascending=[True, False, True])
    return unknown, ranked[is_known].sort_values(["leans", "high", "fact"])


def _described(graph: Graph, answered: Sequence[Row], year_relation: str | None) -> pd.DataFrame:
    """Return answers with labels, types, popularity and year of their facts. Cost: a walk from each subject."""
    about: dict[str, Row] = {}
    for first in range(0, len(answered), _FACTS_AT_ONCE):
        keys = [{"subject": row["subject"], "fact": row["fact"]} for row in answered[first : first + _FACTS_AT_ONCE]]
        about |= {row["fact"]: row for row in graph.read("sample/about", rows=keys, year_relation=year_relation)}
    missing = sum(row["fact"] not in about for row in answered)
    if missing == len(answered):
        raise KgprobeError("None of the asked facts is in this graph any more.")
    frame: pd.DataFrame = pd.DataFrame([{**row, **about[row["fact"]]} for row in answered if row["fact"] in about])
    frame["year"] = frame["year"].map(year_of)
    frame["popularity"] = frame["popularity"].astype(np.float64)
    frame["belief"] = frame["believed"]
    return frame


def _groupings(examined: pd.DataFrame, relations: Mapping[str, str]) -> list[Grouping]:
    entities = examined[["subject", "object"]].apply(lambda row: list(dict.fromkeys(row)), axis=1)
    labels = chain(
        zip(examined["subject"], examined["subject_label"], strict=True),
        zip(examined["object"], examined["object_label"], strict=True),
    )
    types = [(type_["id"], type_["label"] or type_["id"]) for type_ in chain.from_iterable(examined["types"])]
    return [
        grouped("relation", examined, examined["relation"].map(lambda relation: [relation]), relations.items()),
        # A single fact is too little to rate an entity.
        grouped("entity", examined, entities, labels, least=2),
        grouped("type", examined, examined["types"].map(lambda rows: [type_["id"] for type_ in rows]), types),
        by_popularity(examined),
        by_year(examined, examined["year"]),
    ]


def _shown_facts(examined: pd.DataFrame, questions: Mapping[str, _Shown]) -> list[ShownFact]:
    facts = []
    for row in examined.to_dict("records"):
        shown = questions.get(row["fact"], _Shown("", row["object_label"], None))
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
                prediction=shown.prediction,
            )
        )
    return facts


def _reasons(rows: Sequence[Row]) -> dict[str, int]:
    return dict(Counter(row["unaskable"] for row in rows if row["unaskable"] is not None).most_common())
