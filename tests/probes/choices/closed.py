"""Relations with closed answer spaces, as a graph and as the folder of a data set like BEAR."""

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.sampling.keys import FactKey
from tests.written_source import WrittenSource

DATA = Path(__file__).parent.parent.parent / "data" / "closed_answers.json"
SET = """
MATCH (relation:Relation {id: $id})
SET relation.sentences = $sentences, relation.answers = $answers
RETURN relation.id AS id
"""


@dataclass(frozen=True)
class Closed:
    """A relation: its sentences, its answers by id, and its facts: subject, its label, object."""

    sentences: list[str]
    answers: dict[str, str]
    facts: list[list[str]]


def hand_made() -> dict[str, Closed]:
    return {name: Closed(**one) for name, one in json.loads(DATA.read_text(encoding="utf-8")).items()}


def into_graph(graph: Graph, relations: Mapping[str, Closed]) -> list[FactKey]:
    """Load the relations, with what a data set says of them; the keys of all facts, in order."""
    labels = {key: label for one in relations.values() for key, label in one.answers.items()}
    labels |= {subject: label for one in relations.values() for subject, label, _ in one.facts}
    facts = [
        Fact(f"{subject}-{name}", subject, name, object_)
        for name, one in relations.items()
        for subject, _, object_ in one.facts
    ]
    entities = [Entity(key, label) for key, label in sorted(labels.items(), reverse=True)]
    load(graph, WrittenSource(entities, facts, [Relation(name, name) for name in relations]))
    for name, one in relations.items():
        tell_relation(graph, name, sentences=one.sentences, answers=list(one.answers))
    return [FactKey(fact.subject, fact.id) for fact in facts]


def tell_relation(
    graph: Graph, name: str, *, sentences: list[str] | None = None, answers: list[str] | None = None
) -> None:
    """Write what a data set says of a relation."""
    rows = list(graph.run_text(SET, {"id": name, "sentences": sentences, "answers": answers})[1])
    assert rows == [{"id": name}]


def as_folder(relations: Mapping[str, Closed], folder: Path) -> Path:
    """Write the relations as lm-pub-quiz reads them."""
    folder.mkdir()
    described: dict[str, Any] = {}
    for name, one in relations.items():
        described[name] = {
            "templates": one.sentences,
            "answer_space_labels": list(one.answers.values()),
            "answer_space_ids": list(one.answers),
        }
        lines = [
            json.dumps({"sub_id": subject, "sub_label": label, "obj_id": object_, "obj_label": one.answers[object_]})
            for subject, label, object_ in one.facts
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "metadata_relations.json").write_text(json.dumps(described), encoding="utf-8")
    return folder


def public(shared_data: Path, wanted: Sequence[str], *, facts: int, answers: int = 12) -> dict[str, Closed]:
    """Relations with BEAR's sentences, some of their facts, and the objects of those and of more.

    Args:
        facts: of each relation, each of another subject.
        answers: of each relation, at most.
    """
    folder = shared_data / "wikidata"
    with (folder / "relations.jsonl").open(encoding="utf-8") as lines:
        sentences = {row["id"]: row["bear_templates"] for row in map(json.loads, lines)}
    with gzip.open(folder / "entities.jsonl.gz", "rt", encoding="utf-8") as lines:
        labels = {row["id"]: row["label"] for row in map(json.loads, lines)}
    triples: dict[str, dict[str, str]] = {relation: {} for relation in wanted}
    with gzip.open(folder / "facts.tsv.gz", "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["relation"] in triples and "bear" in row["sources"].split(",") and not row["end"]:
                triples[row["relation"]].setdefault(row["subject"], row["object"])
    found = {}
    for relation, objects in triples.items():
        named = {subject: object_ for subject, object_ in objects.items() if labels[subject] and labels[object_]}
        space = list(dict.fromkeys(named.values()))[:answers]
        asked = [(subject, object_) for subject, object_ in named.items() if object_ in space][:facts]
        found[relation] = Closed(
            sentences[relation],
            {answer: labels[answer] for answer in space},
            [[subject, labels[subject], object_] for subject, object_ in asked],
        )
    return found
