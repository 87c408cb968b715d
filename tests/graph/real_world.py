"""Beliefs of two runs about 116,000 facts of Wikidata, one run in view: the size that queries for people must bear."""

import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from kgprobe.beliefs.summary import summarize
from kgprobe.graph.client import Graph, Row
from kgprobe.graph.state import graph_state

RUNS = ("old", "new")
IN_VIEW = "new"
ROUNDS = 20
_AT_ONCE = 5_000

FACTS = """
MATCH (s:Entity)-[f:FACT]->(o:Entity)
RETURN f.id AS fact, s.id AS subject, o.id AS object, f.relation AS relation, f.relation_label AS relation_label,
       s.degree AS subject_degree, f.until AS until
ORDER BY fact
"""
_ENDED = """
MATCH (s:Entity)-[f:FACT]->(:Entity)
WHERE f.until IS NULL
WITH s, f.relation AS relation, collect(f) AS facts
WHERE size(facts) = 2
WITH facts[0] AS one, facts[1] AS other
WITH CASE WHEN one.id < other.id THEN one ELSE other END AS ended
SET ended.until = 20000101
"""
_RUN = """
CREATE (run:Run {id: $run, model: $run, probe: 'distractors', started: $started, round: $rounds, asked: 400000,
                 as_of: 20250101, relations: $relations, variance_mean: 4.0, variance_popularity: 0.25,
                 variance_relation: 1.0, variance_entity: 0.5, variance_fact: 0.75})
"""
_BELIEFS = """
UNWIND $rows AS row
MATCH (run:Run {id: row.run})
CREATE (run)-[:BELIEVES]->(belief:Belief {id: row.run + '/' + row.fact})
SET belief += row
"""


def table_files(folder: Path) -> dict[str, Path]:
    """Return the files of the data, as options of the loader ``table``."""
    names = {"entities": "entities.jsonl.gz", "facts": "facts.tsv.gz", "relations": "relations.jsonl"}
    return {option: folder / "wikidata" / name for option, name in names.items()}


def believe_all(graph: Graph) -> dict[str, list[Row]]:
    """Write the beliefs of both runs, bring the second into view, and return their beliefs about all facts.

    Facts of well-known entities are known more often. One fact in five is not asked. Where a subject has two facts of a
    relation, one of them ended in 2000.
    """
    graph.query(_ENDED)
    facts = list(graph.query(FACTS))
    relations = sorted({fact["relation"] for fact in facts})
    believed: dict[str, list[Row]] = {}
    for number, run in enumerate(RUNS, start=1):
        started = f"2026-01-0{number}T00:00:00+00:00"
        graph.query(_RUN, run=run, started=started, rounds=ROUNDS, relations=relations)
        believed[run] = list(_beliefs(run, facts))
        asked = [belief for belief in believed[run] if belief["belief"] != "not asked"]
        for start in range(0, len(asked), _AT_ONCE):
            graph.query(_BELIEFS, rows=[_belief_node(belief) for belief in asked[start : start + _AT_ONCE]])
    graph.write("view/begin", run=IN_VIEW, graph=graph_state(graph))
    shown = sorted(believed[IN_VIEW], key=itemgetter("subject", "fact"))
    for start in range(0, len(shown), _AT_ONCE):
        graph.write("view/facts", rows=_view_rows(shown[start : start + _AT_ONCE]))
    return believed


def _beliefs(run: str, facts: Sequence[Row]) -> Iterator[Row]:
    counts = [_counts(run, fact) for fact in facts]
    summaries = summarize(counts)
    for place, (fact, count) in enumerate(zip(facts, counts, strict=True)):
        asked = count["right"] + count["wrong"] > 0
        yield {
            **fact,
            **count,
            "run": run,
            "theta": float(summaries.theta[place]),
            "low": float(summaries.low[place]),
            "high": float(summaries.high[place]),
            "belief": summaries.words[place].value if asked else "not asked",
        }


def _counts(run: str, fact: Row) -> Row:
    """Return the answers about a fact and the distribution of its theta, drawn by a hash of its id."""
    drawn = zlib.crc32(f"{run}/{fact['fact']}".encode())
    answers = 0 if drawn % 5 == 0 else 1 + drawn // 5 % 6
    popular = min(fact["subject_degree"], 40) / 40
    right = sum((drawn >> shift) % 100 < 15 + 70 * popular for shift in range(answers))
    # Different priors, so that few facts have the same theta.
    alpha, beta = 1.5 - popular + drawn % 997 / 2_000, 0.5 + popular + drawn % 991 / 2_000
    last = 1 + drawn // 7 % ROUNDS if answers else None
    return {
        "right": right,
        "wrong": answers - right,
        "alpha": alpha + answers - right,
        "beta": beta + right,
        "chances": [0.1] * answers,
        "round": last,
    }


def _belief_node(belief: Row) -> dict[str, Any]:
    names = ("run", "fact", "subject", "object", "relation", "relation_label", "alpha", "beta", "theta", "low", "high")
    node = {name: belief[name] for name in (*names, "right", "wrong", "round")}
    return {**node, "model": belief["run"], "believed": belief["belief"]}


def _view_rows(beliefs: Sequence[Row]) -> list[Row]:
    names = ("alpha", "beta", "low", "high", "right", "wrong", "belief", "round")
    facts_of: dict[str, dict[str, list[Any]]] = defaultdict(dict)
    for belief in beliefs:
        facts_of[belief["subject"]][belief["fact"]] = [belief[name] for name in names]
    return [{"subject": subject, "facts": facts} for subject, facts in facts_of.items()]
