"""Facts to retrieve: those that a definition selects, in its order, in three formats."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.labelling.exports.retrieval import WRITERS, FactToRetrieve, NotRetrieved
from kgprobe.labelling.exports.retrieval_options import FORMATS
from kgprobe.labelling.table import LabelledFact, LabelTable, write_label_table
from tests.cli.inprocess import run
from tests.graph.servers.shared import environment_of, wipe
from tests.labelling.exports.own_graphs import CONFIG, labelled, rows


def found(graph: Graph, table: LabelTable, entities: Sequence[str] = (), **options: Any) -> list[FactToRetrieve]:
    return list(kgprobe.unknown_facts(graph, table, entities, **options))


def rank(labelled: LabelledFact) -> tuple[float, float, str]:
    return labelled.known_high, labelled.known, labelled.fact


def expected(table: LabelTable, entities: set[str], below: float = 0.5) -> list[str]:
    """Return the asked facts around entities by their definition."""
    asked = [each for each in table.rows() if each.basis == "asked"]
    touching = [each for each in asked if {each.subject, each.object} & entities and each.known < below]
    return [each.fact for each in sorted(touching, key=rank)]


def test_facts_around_an_entity_are_unknown_surest_first(example: Graph, table: LabelTable) -> None:
    facts = found(example, table, ["France"])
    assert [fact.fact for fact in facts] == expected(table, {"Q142"})
    assert len(facts) > 5
    assert {fact.entities for fact in facts} == {("Q142",)}
    assert [fact.fact for fact in found(example, table, ["Q142"], below=0.2)] == expected(table, {"Q142"}, 0.2)


def test_two_steps_add_the_facts_of_neighbours(example: Graph, table: LabelTable) -> None:
    near = {"Q142"}
    for each in table.rows():
        if "Q142" in (each.subject, each.object):
            near |= {each.subject, each.object}
    assert [fact.fact for fact in found(example, table, ["Q142"], steps=2)] == expected(table, near)


def test_limit_keeps_the_surest_facts_of_each_entity(example: Graph, table: LabelTable) -> None:
    facts = found(example, table, ["France", "Germany"], per_entity=3)
    by_entity = {id_: [fact.fact for fact in facts if id_ in fact.entities] for id_ in ("Q142", "Q183")}
    assert by_entity == {id_: expected(table, {id_})[:3] for id_ in ("Q142", "Q183")}


def test_without_entities_all_facts_of_the_classes_come_in_order(example: Graph, table: LabelTable) -> None:
    unknown = [each.fact for each in table.rows(["unknown"])]
    assert [fact.fact for fact in found(example, table, classes=("unknown",))] == unknown
    below = [each for each in table.rows() if each.known < 0.5]
    assert [fact.fact for fact in found(example, table, predicted=True)] == [each.fact for each in below]
    assert [fact.fact for fact in found(example, table)] == [each.fact for each in below if each.basis == "asked"]
    with pytest.raises(ArgumentError, match=r"has no class .forgotten."):
        found(example, table, classes=("forgotten",))
    with pytest.raises(
        ArgumentError, match=r"has recalled, without a fact in example\. .*: highly known \([\d,]+\), unknown"
    ):
        found(example, table, classes=("recalled",))
    with pytest.raises(UnknownNameError, match="No entity is called 'Frannce'; close to it: France"):
        found(example, table, ["Frannce"])


def test_text_is_the_statement_of_the_relation(example: Graph, table: LabelTable) -> None:
    facts = found(example, table, below=1.0, predicted=True)
    capitals = {fact.subject: fact.text for fact in facts if fact.relation == "P36"}
    assert capitals["Q142"] == "Paris is the capital of France."
    lines = list(kgprobe.retrieval_texts(example, table, ["France"]))
    assert lines == list(dict.fromkeys(fact.text for fact in found(example, table, ["France"])))


@pytest.mark.slow
def test_cypher_script_merges_the_facts(
    example: Graph, table: LabelTable, second_endpoint: Endpoint, tmp_path: Path
) -> None:
    facts = found(example, table, ["France"])
    odd = LabelledFact(
        *("f'1", "Q1", 'A "b"\\', "P36", "capital", "Q2", "O'Neil\n\u2028{", "asked", 0.1, 0.0, 0.2),
        *("surely unknown", None, None, {}),
    )
    table = write_label_table(tmp_path / "odd", CONFIG, [*table.rows(), odd])
    script = "\n".join(kgprobe.retrieval_texts(example, table, format="cypher"))
    with Graph(second_endpoint) as graph:
        wipe(graph)
        environment = environment_of(second_endpoint)
        for _ in range(2):
            done = run("graph", "shell", typed=script, **environment)
            assert done.returncode == 0, done.stderr
        merged = rows(
            graph,
            "MATCH (s:Entity)-[r:TO_RETRIEVE]->(o)"
            " RETURN s.id AS s, s.label AS n, r.fact AS f, o.label AS o, r.known AS k",
        )
    assert len(merged) == sum(each.known < 0.5 and each.basis == "asked" for each in table.rows())
    by_fact = {row["f"]: row for row in merged}
    assert by_fact["f'1"] == {"s": "Q1", "n": 'A "b"\\', "f": "f'1", "o": "O'Neil\n\u2028{", "k": 0.1}
    assert {fact.fact for fact in facts} <= by_fact.keys()


def test_command_writes_json_for_entities_of_a_file(example: Graph, table: LabelTable, tmp_path: Path) -> None:
    out = tmp_path / "unknown.jsonl"
    names = tmp_path / "names.txt"
    names.write_text("France\n\nQ183\n", encoding="utf-8-sig")
    environment = environment_of(example.endpoint)
    command = ["export", "retrieval", str(table.folder), "--entities", str(names)]
    done = run(*command, "--format", "jsonl", "-o", str(out), "--per-entity", "2", **environment)
    assert done.returncode == 0, done.stderr
    written = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    wanted = found(example, table, ["France", "Germany"], per_entity=2)
    assert [row["fact"] for row in written] == [fact.fact for fact in wanted]
    near = [each for each in table.rows() if {each.subject, each.object} & {"Q142", "Q183"}]
    unknown = [each for each in near if each.known < 0.5]
    left_out = sum(each.basis == "predicted" for each in unknown)
    beyond = len(unknown) - left_out - len(wanted)
    note = (
        f"Left out: {len(near) - len(unknown)} facts known with 50% or more; {left_out} facts unknown by prediction"
        f" alone (--predicted takes them, too); {beyond} facts beyond --per-entity.\n"
    )
    assert done.stderr == f"Wrote {out}: {len(wanted)} facts. {note}"
    assert written[0].keys() == set(FactToRetrieve.__struct_fields__)
    again = run(*command, "-o", str(out), **environment)
    assert (again.returncode, "--force overwrites it" in " ".join(again.stderr.split())) == (2, True), again.stderr
    printed = run(*command, "--per-entity", "2", **environment)
    assert printed.stdout.splitlines() == list(dict.fromkeys(fact.text for fact in wanted))
    assert printed.stderr == f"{len(wanted)} facts. {note}"
    predicted = run(*command, "--predicted", **environment).stderr
    assert predicted.startswith(f"{len(unknown)} facts. By prediction: {left_out} of them. Left out: ")
    assert "alone" not in predicted


def test_predicted_facts_are_left_out_and_counted(example: Graph, tmp_path: Path) -> None:
    class_ = {"belief": "leans unknown", "slick": None, "profile": None}
    facts = [replace(fact, **class_, basis="predicted", known=0.2) for fact in labelled(example)[:4]]
    facts[0] = replace(facts[0], basis="asked")
    # A class by answers in another way.
    facts[1] = replace(facts[1], slick="unknown")
    table, reports = write_label_table(tmp_path / "few", CONFIG, facts), list[NotRetrieved]()

    def taken(**options: Any) -> list[str]:
        return [fact.fact for fact in found(example, table, on_left_out=reports.append, **options)]

    first, second, third, fourth = (fact.fact for fact in facts)
    assert taken() == taken(classes=("leans unknown",)) == [first]
    assert taken(classes=("unknown", "leans unknown")) == [first, second]
    assert taken(classes=("unknown",)) == [second]
    assert taken(predicted=True) == taken(classes=("leans unknown",), predicted=True) == [first, second, third, fourth]
    assert [report.predicted for report in reports] == [3, 3, 2, 0, 0, 0]
    assert [report.known for report in reports] == [0, 0, 0, 3, 0, 0]
    assert [report.taken_predicted for report in reports] == [0, 0, 1, 1, 3, 3]
    asked = write_label_table(tmp_path / "asked", CONFIG, facts[:1])
    found(example, asked, on_left_out=reports.append)
    assert str(reports[-1]) == "Facts that were not asked have no label. `kgprobe label --fill` predicts them."
    alone = write_label_table(tmp_path / "alone", CONFIG, facts[2:])
    with pytest.raises(ArgumentError, match=r"without a fact in alone\. .*: none\. .* 2 facts would be: `predicted`"):
        found(example, alone, classes=("leans unknown",))


def test_unknown_labels_are_named_with_runs_and_tables(example: Graph, tmp_path: Path) -> None:
    write_label_table(tmp_path / "labels" / "base", CONFIG, [])
    environment = {"KGPROBE_HOME": str(tmp_path), **environment_of(example.endpoint)}
    done = run("export", "retrieval", "nosuch", **environment)
    assert (done.returncode, "No label table or run is named 'nosuch'" in " ".join(done.stderr.split())) == (2, True), (
        done.stderr
    )


def test_every_format_has_a_writer() -> None:
    assert tuple(WRITERS) == FORMATS
