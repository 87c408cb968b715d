"""``kgprobe load bear``: a data set of lm-pub-quiz, and what is said of what is wrong with it."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kgprobe.api.loading import load
from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Placed, Relation
from kgprobe.graph.client import Graph
from kgprobe.sources.contract import open_source
from tests.loaders.streams import all_messages, records

TEMPLATES = ["The capital of [X] is [Y].", "[Y] is where [X] is governed from.", "[X] has its capital at [Y] ."]
CAPITALS: dict[str, Any] = {
    "templates": TEMPLATES,
    "answer_space_labels": ["Rome", "Oslo", "Kyiv"],
    "answer_space_ids": ["Q220", "Q585", "Q1899"],
}
NORWAY = {
    "sub_id": "Q20",
    "sub_label": "Norway",
    "sub_aliases": ["Norge", "Norway"],
    "obj_id": "Q585",
    "obj_label": "Oslo",
    "answer_idx": 1,
}
ITALY = {"sub_id": "Q38", "sub_label": "Italy", "obj_id": "Q220", "obj_label": "Roma", "answer_idx": 0}


def bear(tmp_path: Path, metadata: object = None, **facts: list[object]) -> Path:
    """Return a data set's folder; a fact that is a text stands as it is."""
    folder = tmp_path / "BEAR"
    folder.mkdir(exist_ok=True)
    (folder / "metadata_relations.json").write_text(
        metadata if isinstance(metadata, str) else json.dumps(metadata or {"P36": CAPITALS}, indent=4)
    )
    for name, lines in (facts or {"P36": [NORWAY, ITALY]}).items():
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (folder / f"{name}.jsonl").write_text("\n".join(texts) + "\n")
    return folder


def line_of(folder: Path, text: str) -> int:
    return (folder / "metadata_relations.json").read_text().split(text)[0].count("\n") + 1


def test_relations_keep_templates_and_order_of_the_data_set(tmp_path: Path) -> None:
    folder = bear(tmp_path)
    source = open_source("bear", folder=folder)
    assert source.name == "BEAR"
    assert records(source.relations()) == [
        Relation(
            "P36",
            clozes=("The capital of [X] is [Y]", "[X] has its capital at [Y]"),
            statements=("[Y] is where [X] is governed from.",),
            sentences=tuple(TEMPLATES),
            answers=("Q220", "Q585", "Q1899"),
        )
    ]
    assert records(source.entities()) == [
        # Kyiv has no fact; what its answer is called goes before what a fact calls it.
        Entity("Q220", "Rome", ("Roma",)),
        Entity("Q585", "Oslo"),
        Entity("Q1899", "Kyiv"),
        Entity("Q20", "Norway", ("Norge",)),
        Entity("Q38", "Italy"),
    ]
    assert list(source.facts()) == [
        Placed(1, Fact("Q20 P36 Q585", "Q20", "P36", "Q585"), "P36.jsonl"),
        Placed(2, Fact("Q38 P36 Q220", "Q38", "P36", "Q220"), "P36.jsonl"),
    ]
    assert source.done == source.total


def test_relation_properties_have_answers_and_templates(graph: Graph, tmp_path: Path) -> None:
    report = load(graph, "bear", folder=bear(tmp_path))
    assert str(report) == "BEAR: 5 entities, 1 relations, 2 facts."
    (row,) = graph.read("sample/relations")
    assert list(row["sentences"]) == TEMPLATES
    (row,) = graph.read("sample/closed_relations")
    assert row == {"id": "P36", "answers": ["Q220", "Q585", "Q1899"]}
    rows = graph.query("UNWIND $ids AS id MATCH (e:Entity {id: id}) RETURN e.label AS label", ids=row["answers"])
    assert [row["label"] for row in rows] == ["Rome", "Oslo", "Kyiv"]


def test_answers_without_answer_space_are_the_objects(tmp_path: Path) -> None:
    lines = [dict(ITALY, answer_idx=None), dict(NORWAY, answer_idx=7), dict(ITALY, sub_id="Q237", sub_label="Vatican")]
    source = open_source("bear", folder=bear(tmp_path, {"P36": {"templates": TEMPLATES}}, P36=lines))
    (relation,) = records(source.relations())
    assert isinstance(relation, Relation)
    assert relation.answers == ("Q220", "Q585")
    assert len(list(source.facts())) == 3
    assert all_messages(source) == []


def test_answer_is_named_by_its_number_as_well(tmp_path: Path) -> None:
    lines = [{"sub_id": "Q20", "sub_label": "Norway", "answer_idx": 1}]
    source = open_source("bear", folder=bear(tmp_path, P36=lines))
    assert records(source.facts()) == [Fact("Q20 P36 Q585", "Q20", "P36", "Q585")]


def test_packed_files_are_read_without_unlisted_relations(tmp_path: Path) -> None:
    folder = bear(tmp_path, {"P36": CAPITALS, "P30": CAPITALS})
    packed = gzip.compress((folder / "P36.jsonl").read_bytes())
    (folder / "P36.jsonl").unlink()
    (folder / "P36.jsonl.gz").write_bytes(packed)
    source = open_source("bear", folder=folder)
    assert [getattr(record, "id", record) for record in records(source.relations())] == ["P36"]
    assert len(list(source.facts())) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"templates": []},
            "P36: it has no template: `templates` is missing or empty; the relation goes without",
        ),
        (
            {"templates": [*TEMPLATES, "[X] is large."]},
            "P36: '[X] is large.' of its templates has [Y] 0 times where 1 is expected; the relation goes without it",
        ),
        (
            {"answer_space_ids": ["Q220", "Q585", "Q220"]},
            "P36: the answer 2 of its answer space, 'Q220' ('Kyiv'), is the answer 0 already; each is expected once, so"
            " it is left out",
        ),
        (
            {"answer_space_ids": ["Q220", "Q585", ""]},
            "P36: the answer 2 of its answer space, '' ('Kyiv'), has no id that can be used; it is left out",
        ),
    ],
)
def test_bad_relation_is_reported_and_the_rest_is_read(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    folder = bear(tmp_path, {"P30": CAPITALS, "P36": CAPITALS | change})
    source = open_source("bear", folder=folder)
    assert all_messages(source) == [f"metadata_relations.json, line {line_of(folder, chr(34) + 'P36')}: {reason}"]
    (relation,) = (record for record in records(source.relations()) if isinstance(record, Relation))
    assert relation.sentences == tuple(template for template in TEMPLATES if change.get("templates") != [])
    assert relation.answers[:2] == ("Q220", "Q585")
    assert len(list(source.facts())) == 2


def test_relation_with_one_object_goes_without_answers(tmp_path: Path) -> None:
    one = CAPITALS | {"answer_space_ids": ["Q585"], "answer_space_labels": ["Oslo"]}
    source = open_source("bear", folder=bear(tmp_path, {"P36": one}, P36=[dict(NORWAY, answer_idx=0)]))
    assert all_messages(source) == [
        "metadata_relations.json, line 2: P36: its only answer is Q585 ('Oslo'), where two or more are expected to"
        " choose from; the relation goes without answers"
    ]
    assert [record.answers for record in records(source.relations()) if isinstance(record, Relation)] == [()]
    assert len(list(source.facts())) == 1


WRONG_TYPES = [
    ("sub_id", 5, "Expected `str`, got `int` - at `$.sub_id`"),
    ("answer_idx", -1, "Expected `int` >= 0 - at `$.answer_idx`"),
    ("answer_idx", 3, "`answer_idx` is 3, and the last answer of P36 is 2"),
    (
        "answer_idx",
        0,
        "`obj_id` is 'Q585', but the answer 0 of P36, which `answer_idx` names, is Q220 ('Rome')",
    ),
    ("sub_id", "", "the `sub_id` is empty"),
    ("sub_id", " Q20", "the `sub_id` contains control characters or space at an end: ' Q20'"),
]


@pytest.mark.parametrize(("field", "value", "reason"), WRONG_TYPES)
def test_wrong_field_of_a_fact_is_named_with_its_line(tmp_path: Path, field: str, value: object, reason: str) -> None:
    source = open_source("bear", folder=bear(tmp_path, P36=[ITALY, dict(NORWAY, **{field: value})]))
    assert all_messages(source) == [f"P36.jsonl, line 2: {reason}"]
    assert records(source.facts())[:1] == [Fact("Q38 P36 Q220", "Q38", "P36", "Q220")]
    assert "Q20" not in [getattr(record, "id", "") for record in records(source.entities())]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            dict(NORWAY, obj_id="Q90", obj_label="Paris", answer_idx=None),
            "the object Q90 ('Paris') is not in the answer space of P36, which has 3 answers",
        ),
        ({"sub_id": "Q20"}, "`obj_id` is missing"),
        ({"obj_id": "Q585"}, "Object missing required field `sub_id`"),
    ],
)
def test_fact_that_cannot_be_used_costs_itself_alone(tmp_path: Path, line: object, reason: str) -> None:
    source = open_source("bear", folder=bear(tmp_path, P36=[line, NORWAY]))
    assert all_messages(source) == [f"P36.jsonl, line 1: {reason}"]
    assert records(source.facts())[1:] == [Fact("Q20 P36 Q585", "Q20", "P36", "Q585")]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"templates": 5}, "Expected `array`, got `int` - at `$.templates`"),
        (
            {"answer_space_ids": None},
            "it has `answer_space_labels` but no `answer_space_ids`; both are expected, or neither",
        ),
        (
            {"answer_space_ids": ["Q220"]},
            "1 `answer_space_ids` and 3 `answer_space_labels`; as many are expected",
        ),
    ],
)
def test_wrong_field_of_the_metadata_costs_its_relation_alone(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    folder = bear(tmp_path, {"P36": CAPITALS, "P30": CAPITALS | change}, P36=[NORWAY], P30=[ITALY])
    source = open_source("bear", folder=folder)
    assert all_messages(source) == [
        f"metadata_relations.json, line {line_of(folder, chr(34) + 'P30')}: P30: {reason}",
        "P30.jsonl, line 1: metadata_relations.json has no relation P30 that can be read; the facts of this file are"
        " left out",
    ]
    assert records(source.facts()) == [Fact("Q20 P36 Q585", "Q20", "P36", "Q585")]


def test_broken_metadata_are_told_with_their_line(tmp_path: Path) -> None:
    folder = bear(tmp_path, '{\n  "P36": {"templates": [,]}\n}')
    told = all_messages(open_source("bear", folder=folder))
    assert told[0].startswith("metadata_relations.json, line 2: not JSON: ")


def test_what_is_no_such_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match=r"metadata_relations\.json does not exist"):
        open_source("bear", folder=tmp_path)
    (tmp_path / "metadata_relations.json").write_text("{}")
    with pytest.raises(KgprobeError, match=r"has no file of facts; one such as P36\.jsonl is expected"):
        open_source("bear", folder=tmp_path)
