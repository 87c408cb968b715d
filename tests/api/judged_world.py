"""A graph, a tiny model on disk and a judge of it."""

from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

import kgprobe
from benchmarks.judged_graph import random_judge
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.judge import judged_shards
from kgprobe.judge.files import Judge, save_judge
from kgprobe.judge.prompts import StatePrompt
from kgprobe.models.model import Models
from tests.models.tiny import save_base
from tests.written_source import WrittenSource

COUNT = 60
AS_OF = 20200101
BEFORE, AFTER = "Judge whether this is true: ", "\nAnswer:"


def parts() -> tuple[list[Entity], list[Fact], list[Relation]]:
    entities = [
        *(Entity(f"c{n}", f"Country {n}", types=("country",), popularity=float(n)) for n in range(COUNT)),
        *(Entity(f"t{n}", f"Town {n}", types=("city", "place")[: 1 + n % 2]) for n in range(COUNT)),
        Entity("blank", " ", types=("city",)),
        Entity("alone", "Alone", types=("lonely",)),
        Entity("long", "Long " * 900, types=("city",)),
    ]
    relations = [
        Relation("r0", "loves", statements=("[X] loves [Y].", "[Y] is loved by [X].")),
        Relation("r1", "hates", statements=("[X] hates [Y].",)),
        Relation("r3", "saw", statements=("[X] saw [Y].",)),
        Relation("r2", active=True),
    ]
    facts = [Fact(f"f{n}", f"c{n}", f"r{n % 2}", f"t{n * 7 % COUNT}") for n in range(COUNT)]
    facts += [Fact(f"more{n}", f"c{n % 5}", "r1", f"t{n}") for n in range(30)]
    facts += [
        Fact("white", "c1", "r0", "blank"),
        Fact("only", "c1", "r0", "alone"),
        Fact("too long", "c2", "r0", "long"),
        Fact("past", "c3", "r1", "t50", end="1999"),
        Fact("long past", "c4", "r3", "t52", end="1899"),
        Fact("wordless", "c3", "r2", "t51"),
    ]
    return entities, facts, relations


def world() -> WrittenSource:
    return WrittenSource(*parts())


def write_model(folder: Path, positions: int = 1024) -> str:
    """Return a model on disk; its spec."""
    save_base(folder, "gpt2", n_positions=positions)
    return f"hf:{folder}"


def write_judge(graph: Graph, spec: str, folder: Path) -> Judge:
    """Return a judge with random weights, which tells all three answers."""
    scorer = Models().open(spec).local_scorer()
    judge = random_judge(graph, scorer, ["r0", "r1"], StatePrompt(BEFORE, AFTER), AS_OF)
    folder.mkdir(parents=True, exist_ok=True)
    save_judge(judge, folder)
    return judge


def small_shards() -> Any:
    """Shards of 16 facts."""
    return mock.patch.multiple(judged_shards, _FEWEST=16)


def judge_world(graph: Graph, judge: Judge | Path, **how: Any) -> tuple[Path, judged_shards.JudgedShards]:
    """Return the folder of the judged graph, and the progress."""
    done = kgprobe.judge_graph(graph, judge, **how)
    assert (done.judged is not None) == done.shards.complete
    return done.folder, done.shards


def rows_of(folder: Path) -> pa.Table:
    """Return the rows of all shards."""
    return pa.concat_tables([pq.read_table(path) for path in sorted((folder / "shards").glob("*.parquet"))])
