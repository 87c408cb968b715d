"""Study of generic templates: the same facts asked in hand-written templates and in those made of labels.

Cloze sentences are compared by the probe ``distractors``: each hand-written sentence of a relation, and the generic
one, against the first hand-written sentence. The difference between two hand-written sentences shows how much wording
matters anyway. Questions are compared by the probe ``questions``. docs/methods/studies.md.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean, Share
from kgprobe.base.tables import Heading, ResultRow
from kgprobe.papers.studies.paired import against_first, compare_with_first
from kgprobe.papers.studies.study import Study, category, json_number
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome, answered
from kgprobe.results.measurement import Measurement
from kgprobe.results.rendering.plots import CategoryPlot
from kgprobe.results.result import Listing
from kgprobe.stats.proportions import CONFIDENCE, share

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

GENERIC = "generic"
# Titles of the measurements: a probe, and the origin of its templates.
SENTENCES, QUESTIONS = "cloze sentences", "questions"


@dataclass(frozen=True, slots=True)
class TemplatesOrigin(ResultRow):
    """Templates of a kind, with their difference from the first, see :mod:`kgprobe.papers.studies.paired`.

    Attributes:
        value: mean value of a fact.
        tau: Kendall's τ, over facts, of the values with those of the first templates; None for these, and if undefined.
    """

    kind: Annotated[str, Heading("kind")]
    templates: Annotated[str, Heading("templates")]
    facts: Annotated[int, Heading("facts")]
    known: Annotated[Share, Heading("known")]
    value: Annotated[float, Heading("mean value")]
    lost: Annotated[int | None, Heading("lost")]
    gained: Annotated[int | None, Heading("gained")]
    gain: Annotated[Mean | None, Heading("gain")]
    p: Annotated[float | None, Heading("p")]
    tau: Annotated[float | None, Heading("τ")]


@dataclass(frozen=True, slots=True)
class ValueByTemplates(ResultRow):
    """A fact asked by templates of a kind."""

    kind: str
    templates: str
    relation: str
    fact: str
    value: float


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class TemplatesStudy(Study):
    """Generic and hand-written templates."""

    table: Annotated[Sequence[TemplatesOrigin], Listing("", detail=True)]
    data: Annotated[Sequence[ValueByTemplates], Listing(main=True)]

    name: ClassVar[str] = "templates"

    @property
    def plots(self) -> Sequence[CategoryPlot]:
        """The shares of known facts of each kind."""
        whiskers = f"share of known facts; whiskers: {CONFIDENCE:.0%} interval"
        plots = []
        for kind, rows in groupby(self.table, attrgetter("kind")):
            categories = [category(row.templates, row.known) for row in rows]
            plots.append(CategoryPlot(kind.capitalize(), whiskers, categories, (0.0, 1.0)))
        return plots


def templates_study(
    measurements: Mapping[tuple[str, str], Measurement],
    distractors: int,
    model: str,
    config: Mapping[str, Any],
) -> TemplatesStudy:
    """Compare generic with hand-written templates on paired facts.

    Args:
        measurements: of the same facts, by kind (``SENTENCES``, ``QUESTIONS``) and origin (``hand``, ``generic``).
        distractors: n, of Min@n and Avg@n.
    """
    answers: dict[str, dict[str, dict[str, float]]] = {kind: {} for kind, _ in measurements}
    questions: dict[str, pd.DataFrame] = {}
    relations: dict[str, str] = {}
    for (kind, origin), measurement in measurements.items():
        answered = measurement.answers.by_fact(*(["kind", "negative"] if kind == QUESTIONS else []))
        relations.update(zip(answered.index, answered["relation"], strict=True))
        if kind == SENTENCES:
            answers[kind] |= _by_sentence(measurement.outcomes, origin, distractors)
        else:
            questions[f"{origin} question"] = answered
    notes, verdicts = [], []
    if questions:
        answers[QUESTIONS], left_out = _by_question(questions)
        if left_out:
            notes.append(
                f"questions: {left_out:,} facts are left out: their hand-written and generic questions differ in kind"
                " (yes/no, or who, which and what) or in the object that they name."
            )
    rows: list[TemplatesOrigin] = []
    data: list[ValueByTemplates] = []
    for kind, by_way in answers.items():
        common = _common_facts(kind, by_way)
        values = {way: np.array([of_way[fact] for fact in common]) for way, of_way in by_way.items()}
        known: dict[str, Bools] = {way: of_way >= 1 for way, of_way in values.items()}
        shares = {way: share(int(of_way.sum()), len(common)) for way, of_way in known.items()}
        tests = compare_with_first(known)
        first = next(iter(values.values()))
        for way, of_way in values.items():
            tau = None if of_way is first else json_number(stats.kendalltau(first, of_way).statistic)
            mean = float(of_way.mean())
            rows.append(TemplatesOrigin(kind, way, len(common), shares[way], mean, *tests[way], tau))
            data += map(partial(ValueByTemplates, kind, way), map(relations.get, common), common, of_way.tolist())
        verdicts.append(f"{kind.capitalize()}: {against_first(shares, tests)}")
        facts = len(set().union(*by_way.values()))
        notes.append(f"{kind}: {len(common):,} of {facts:,} facts were asked by all templates, and count.")
    notes += [
        f"A fact is known in a sentence if its object beats all {distractors} distractors, which are the same in all"
        " sentences; its value is the share of them that the object beats.",
        "gain is the share of known facts less that of the first row of its kind, with Tango's 95% interval; p is from"
        " McNemar's exact test, adjusted over the rows (Benjamini-Hochberg). τ: Kendall's, over facts, of the values"
        " with those of the first row.",
        "Only relations with hand-written templates are asked.",
    ]
    return TemplatesStudy(
        verdict=" ".join(verdicts),
        title=f"Generic and hand-written templates · {model}",
        data=data,
        table=rows,
        notes=notes,
        config=config,
    )


def _common_facts(kind: str, by_way: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Return the facts that were asked by all templates of a kind."""
    # Without an answered hand-written sentence there is nothing to compare with.
    common = sorted(set.intersection(*map(set, by_way.values()))) if len(by_way) > 1 else []
    if not common:
        raise KgprobeError(f"No fact could be asked by all templates of {kind}; `kgprobe probe` prints the reasons.")
    return common


def _by_sentence(outcomes: Iterable[Outcome], origin: str, count: int) -> dict[str, dict[str, float]]:
    """Return each fact's Avg@n in the first, second, … sentence of its relation.

    Only sentences that all facts have are compared.
    """
    by_fact: dict[str, Floats] = {}
    for outcome, evidence in answered(outcomes, DistractorEvidence):
        by_fact[outcome.fact.fact] = evidence.avg_at_n(count)[:, -1]
    sentences = min(map(len, by_fact.values()), default=0)
    if origin == GENERIC:
        return {"generic sentence": {fact: float(values[0]) for fact, values in by_fact.items()}}
    ways = {}
    for place in range(sentences):
        ways[f"hand-written sentence {place + 1}"] = {fact: float(values[place]) for fact, values in by_fact.items()}
    return ways


def _by_question(questions: Mapping[str, pd.DataFrame]) -> tuple[dict[str, dict[str, float]], int]:
    """Return 1 for each fact with a right answer and 0 for each with a wrong one, by origin of the question.

    Only facts whose questions have the same kind and object in both origins count; the others are counted.
    """
    every = pd.concat(questions.values())
    kinds = every[["kind", "negative"]].fillna("").reset_index().drop_duplicates()
    different = set(kinds.loc[kinds["index"].duplicated(), "index"])
    by_origin: dict[str, dict[str, float]] = {}
    for origin, facts in questions.items():
        compared = facts[~facts.index.isin(different)]
        by_origin[origin] = dict(zip(compared.index, compared["right"].astype(float).tolist(), strict=True))
    return by_origin, len(different)
