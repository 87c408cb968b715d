"""Order of explore/suspects: planted mistakes compared with facts that synthetic models do not know.

Three models answer each fact of the example graph four times. The difficulty of a fact (of its entities and its own) is
the same for all models to some share. On 75 facts, as if the graph were wrong there, every answer is wrong with
probability 0.95. Precision and recall of the list, and the probability that a planted mistake precedes another fact
of the list (AUC): in the order of the query, and by the fact's mean theta less that of the facts around it.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

import kgprobe
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.beliefs.summary import summarize
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph

Floats = NDArray[np.float64]

MODELS, ANSWERS, PLANTED = 3, 4, 75
SHARES = (0.0, 0.5, 0.8, 1.0)
_FACTS = """
MATCH (s:Entity)-[f:FACT]->(o:Entity)
RETURN s.id AS subject, f.id AS fact, o.id AS object, f.relation AS relation ORDER BY fact
"""
_RUN = "MERGE (:Run {id: $run})"
_BELIEVE = """
UNWIND $rows AS row
MERGE (b:Belief {id: row.run + '/' + row.fact})
SET b.run = row.run, b.model = row.run, b.fact = row.fact, b.subject = row.subject, b.object = row.object,
    b.relation = row.relation, b.relation_label = row.relation, b.right = row.right, b.wrong = row.wrong,
    b.theta = row.theta, b.low = row.low, b.high = row.high, b.believed = row.believed, b.question = row.fact
"""
_ROWS = 1_000


class Quality(NamedTuple):
    """Quality of a list, each in [0, 1]; see the module."""

    precision: float
    recall: float
    order: float
    difference: float


def answer(facts: Sequence[dict[str, Any]], share: float, planted: set[str], random: np.random.Generator) -> Floats:
    """Return the number of wrong answers, shape (models, facts).

    Args:
        share: of the standard deviation of a fact's difficulty that all models have in common, in [0, 1].
    """
    entities = {id_: random.normal(0, 1.2 * share) for fact in facts for id_ in (fact["subject"], fact["object"])}
    relations = {fact["relation"]: random.normal(0, 0.4) for fact in facts}
    common = np.array(
        [entities[fact["subject"]] + entities[fact["object"]] / 2 + relations[fact["relation"]] for fact in facts]
    ) + random.normal(0, 1.5 * share, len(facts))
    own = random.normal(0, 1.5 * np.sqrt(1 - share**2), (MODELS, len(facts)))
    fails = np.clip(1 / (1 + np.exp(-2 * (common + own - 1.6))), 0.02, 0.98)
    fails[:, [fact["fact"] in planted for fact in facts]] = 0.95
    return random.binomial(ANSWERS, fails).astype(np.float64)


def measure(graph: Graph, facts: Sequence[dict[str, Any]], share: float, random: np.random.Generator) -> Quality:
    """Return the quality of the list for one set of synthetic models."""
    planted = {facts[place]["fact"] for place in random.choice(len(facts), PLANTED, replace=False)}
    wrong = answer(facts, share, planted, random)
    for model in range(MODELS):
        rows = [
            {
                **fact,
                "run": f"model {model}",
                "wrong": int(wrong_answers),
                "right": int(ANSWERS - wrong_answers),
                "chances": [0.1] * ANSWERS,
            }
            | {"alpha": 1 + wrong_answers, "beta": 1 + ANSWERS - wrong_answers}
            for fact, wrong_answers in zip(facts, wrong[model].tolist(), strict=True)
        ]
        believed = summarize(rows)
        for place, row in enumerate(rows):
            row |= {"theta": float(believed.theta[place]), "low": float(believed.low[place])}
            row |= {"high": float(believed.high[place]), "believed": believed.words[place].value}
        graph.query(_RUN, run=f"model {model}")
        for start in range(0, len(rows), _ROWS):
            graph.query(_BELIEVE, rows=rows[start : start + _ROWS])
    suspects = graph.query("explore/suspects", limit=len(facts), candidates=len(facts)).to_frame()
    is_planted = suspects["fact"].isin(planted).to_numpy()
    by_difference = (suspects["known_around"] - suspects["known"]).to_numpy(np.float64)
    return Quality(
        float(is_planted.mean()),
        float(is_planted.sum() / PLANTED),
        _before(-np.arange(len(suspects)), is_planted),
        _before(by_difference, is_planted),
    )


def _before(scores: NDArray[Any], is_planted: NDArray[np.bool_]) -> float:
    """Return the probability that a planted mistake has a higher score than another fact of the list."""
    statistic = mannwhitneyu(scores[is_planted], scores[~is_planted]).statistic
    return float(statistic / (is_planted.sum() * (~is_planted).sum()))


@click.command()
@click.option("--repetitions", default=5, show_default=True, help="Sets of synthetic models for each share.")
@seed_option
@json_option
def main(repetitions: int, seed: int, as_json: bool) -> None:
    """Measure the list of suspects on planted mistakes."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, kgprobe.open_graph(Path(folder) / "graph") as graph:
        kgprobe.load(graph, "example")
        facts = [dict(row) for row in graph.query(_FACTS)]
        for share in SHARES:
            qualities = [
                measure(graph, facts, share, np.random.default_rng([seed, int(10 * share), repetition]))
                for repetition in range(repetitions)
            ]
            means = Quality(*np.mean(qualities, axis=0).tolist())
            names = ("precision", "recall", "AUC of the order", "AUC of theta less that around")
            rows += [Row(f"share {share}", name, value, "") for name, value in zip(names, means, strict=True)]
    show(Report("suspects", rows, seed, versions_of("kgprobe")), as_json=as_json)


if __name__ == "__main__":
    main()
