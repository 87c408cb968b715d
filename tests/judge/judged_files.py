"""Judged graphs and labels as tests make them: rows by the schema, in shards; answers, in a folder."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgprobe.answers.settings import CONFIG
from kgprobe.answers.store import FILE, encode_line
from kgprobe.judge.judged_facts import SCHEMA
from kgprobe.judge.judged_shards import SHARDS, shard_path
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.statements.metrics import NONE, metrics_of
from kgprobe.probes.true_false.evidence import AnsweredNegative, AnsweredStatement, TrueFalseEvidence
from kgprobe.sampling.keys import FactKey
from kgprobe.sampling.selection import SEEDED_ORDER

GRAPH = '{"id":"made up"}'
SETTINGS = {"replace": "object", "any_type": False, "negatives": 2, "relations": ["r0"], "as_of": 20250101, "seed": 3}
JUDGE = {
    "digest": "abc",
    "answers_of": "demo",
    "layer": 3,
    "kind": "linear",
    "reader": {"name": "demo"},
    "aside": 0.3,
    "seed": 5,
    "labels": "labelled",
}


def judged(fact: str, judgement: int, negatives: Sequence[int], **columns: Any) -> dict[str, Any]:
    """Return a row: a fact and its negatives with their judgements, and whatever else is to be known of it."""
    facts = np.array([judgement], dtype=np.int8)
    metrics = metrics_of(facts, np.array([negatives], dtype=np.int8).reshape(1, -1))
    numbers = {name: float(getattr(metrics, name)[0]) for name in ("correct", "truthful", "informative")}
    said = judgement != NONE
    return {
        "fact": fact,
        "subject": f"s {fact}",
        "relation": "r0",
        "object": f"o {fact}",
        "subject_types": [],
        "object_types": [],
        "subject_degree": 1,
        "object_degree": 1,
        "subject_popularity": None,
        "object_popularity": None,
        "text": f"It is {fact}." if said else None,
        "reason": None if said else "no words",
        "judgement": judgement,
        "probabilities": [0.5, 0.25, 0.25] if said else None,
        "negatives": [
            {
                "text": f"It is not {fact}.",
                "replaced": "object",
                "subject": f"s {fact}",
                "relation": "r0",
                "object": f"o{number}",
                "judgement": negative,
                "probabilities": None if negative == NONE else [0.5, 0.25, 0.25],
            }
            for number, negative in enumerate(negatives)
        ],
        **{name: None if np.isnan(value) else value for name, value in numbers.items()},
        **columns,
    }


def write_judged_graph(folder: Path, rows: Sequence[dict[str, Any]], shards: int = 1, **config: Any) -> Path:
    """Write a folder as `judge predict` does; shards of about the same size."""
    (folder / SHARDS).mkdir(parents=True, exist_ok=True)
    told = {"facts": len(rows), "shards": shards, "graph": GRAPH, "settings": SETTINGS, "judge": JUDGE, **config}
    (folder / CONFIG).write_text(json.dumps(told), encoding="utf-8")
    for shard, part in enumerate(np.array_split(np.arange(len(rows)), shards)):
        table = pa.Table.from_pylist([rows[place] for place in part], schema=SCHEMA)
        pq.write_table(table, shard_path(folder, shard), compression="zstd", row_group_size=5)
    return folder


def said(fact: str, judgement: int, negatives: Sequence[int], relation: str = "r0") -> Outcome:
    """Return what a model said of the same fact; -1 where nothing can be read from it."""
    verdicts = {0: Verdict.RIGHT, 1: Verdict.WRONG, 2: Verdict.REFUSED, NONE: Verdict.OFF_FORMAT}
    evidence = TrueFalseEvidence(
        AnsweredStatement(f"It is {fact}.", ("…",), (judgement,)),
        f"o {fact}",
        tuple(
            AnsweredNegative("It is not.", ("…",), (negative,), "object", f"s {fact}", relation, f"o{number}")
            for number, negative in enumerate(negatives)
        ),
        len(negatives),
    )
    return Outcome(FactKey(f"s {fact}", fact), verdicts[judgement], relation, "prompt", evidence=evidence)


def write_labels(folder: Path, outcomes: Sequence[Outcome], **config: Any) -> Path:
    """Write a measurement of these labels, as one of the graph that :func:`write_judged_graph` has."""
    folder.mkdir(parents=True)
    told = {
        "probe": "true-false",
        "options": {"replace": "object", "any_type": False},
        "described": {"model": "demo"},
        "relations": ["r0"],
        "facts": {"limit": len(outcomes), "order": SEEDED_ORDER},
        "seed": 0,
        "as_of": 20250101,
        "graph": GRAPH,
        "reversed": False,
        **config,
    }
    (folder / "config.json").write_text(json.dumps(told), encoding="utf-8")
    lines = b"".join(encode_line(place, outcome) for place, outcome in enumerate(outcomes))
    (folder / FILE).write_bytes(lines)
    return folder
