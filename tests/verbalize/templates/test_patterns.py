"""Public patterns as relations, and files of them."""

import json
from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Relation
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.templates.file import open_for_relations, relation_line, relations_in
from kgprobe.verbalize.templates.patterns import read_patterns

LAMA = """\
{"relation": "P19", "template": "[X] was born in [Y] .", "label": "place of birth", "type": "N-1"}
{"relation": "P1001", "template": "[X] is a legal term in [Y] .", "label": "applies to jurisdiction"}

{"relation": "P7", "template": "The brother of [Y] is [X]'s ."}
{"relation": "P8"}
{"relation": "P9", "template": 3}
[]
no JSON
{"relation": "P10", "template": "[X] and [Z] of [Y]"}
"""
PARAREL = """\
{"pattern": "[X] was born in [Y].", "lemma": "be-bear-in", "tense": "past"}
{"pattern": "[X], native of [Y]"}
{"pattern": "[Y] is where [X] was born ."}
"""


def test_patterns_of_several_files_come_together(tmp_path: Path) -> None:
    lama, pararel, table = tmp_path / "lama.jsonl", tmp_path / "P19.jsonl", tmp_path / "table.jsonl"
    lama.write_text(LAMA)
    pararel.write_text(PARAREL)
    table.write_text('{"id": "P20", "label": "place of death", "bear_templates": ["[X] died in [Y]."], "facts": 3}\n')
    converted = read_patterns([lama, pararel, table])
    assert [relation for relation in converted.relations if relation.clozes or relation.statements] == [
        Relation(
            "P19",
            "place of birth",
            clozes=("[X] was born in [Y]", "[X], native of [Y]"),
            statements=("[Y] is where [X] was born.",),
        ),
        Relation("P1001", "applies to jurisdiction", clozes=("[X] is a legal term in [Y]",)),
        Relation("P7", statements=("The brother of [Y] is [X]'s.",)),
        Relation("P20", "place of death", clozes=("[X] died in [Y]",)),
    ]
    assert [problem.split(": ")[0] for problem in converted.problems] == [
        f"lama.jsonl, line {n}" for n in (5, 6, 7, 8, 9)
    ]
    assert (
        "neither `relation` and `template` (LAMA), `templates` with weights (LPAQ), `pattern` (ParaRel)"
        in converted.problems[0]
    )
    assert "a text is expected, not 3" in converted.problems[1]
    assert "P10: '[X] and [Z] of [Y]' has a bracket" in converted.problems[4]
    with pytest.raises(KgprobeError, match=r"none\.jsonl does not exist"):
        read_patterns([tmp_path / "none.jsonl"])


@pytest.mark.parametrize("indent", [4, None], ids=["over many lines", "in one line"])
@pytest.mark.parametrize("named", ["folder", "file"])
def test_folder_of_bear_is_read(tmp_path: Path, indent: int | None, named: str) -> None:
    relations = {
        "P36": {
            "templates": ["The capital of [X] is [Y].", "[Y] is where [X] is governed from."],
            "answer_space_labels": ["Oslo", "Rome"],
            "answer_space_ids": ["Q585", "Q220"],
        },
        "P30": {"templates": ["[X] lies in [Y]."], "answer_space_labels": [], "answer_space_ids": []},
        "P5": {"templates": ["[Z] lies in [Y]."], "answer_space_labels": [], "answer_space_ids": []},
    }
    folder = tmp_path / "BEAR"
    folder.mkdir()
    file = folder / "metadata_relations.json"
    file.write_text(json.dumps(relations, indent=indent))
    (folder / "P36.jsonl").write_text('{"sub_id": "Q20", "sub_label": "Norway", "obj_id": "Q585", "obj_label": "Oslo"}')
    converted = read_patterns([folder if named == "folder" else file])
    assert list(converted.relations)[:2] == [
        Relation("P36", clozes=("The capital of [X] is [Y]",), statements=("[Y] is where [X] is governed from.",)),
        Relation("P30", clozes=("[X] lies in [Y]",)),
    ]
    (problem,) = converted.problems
    line = file.read_text().split('"P5"')[0].count("\n") + 1
    assert problem.startswith(f"metadata_relations.json, line {line}: P5: '[Z] lies in [Y]' has [X] 0 times")


def test_broken_or_empty_folder_of_bear_is_told(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match=r"metadata_relations\.json does not exist"):
        read_patterns([tmp_path])
    (tmp_path / "metadata_relations.json").write_text('{\n  "P36": {"templates": ["The capital of [X]')
    (problem,) = read_patterns([tmp_path]).problems
    assert problem.startswith("metadata_relations.json, line 2: not JSON")
    (tmp_path / "metadata_relations.json").write_text('{\n  "P36": {"templates": ["ok [X] [Y]", 3]}}')
    (problem,) = read_patterns([tmp_path]).problems
    assert problem == "metadata_relations.json, line 2: P36: Expected `str`, got `int` - at `$.templates[1]`."


def test_real_patterns_are_all_used(shared_data: Path) -> None:
    converted = read_patterns([shared_data / "wikidata" / "relations.jsonl"])
    assert converted.problems == []
    assert sum(bool(relation.clozes) for relation in converted.relations) > 80


def test_file_is_read_as_it_was_written_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "new" / "relations.jsonl"
    relation = Relation(
        "P1", "kind of", ("type",), clozes=("[X] is a kind of [Y]",), past_clozes=("[X] was [Y]",), answers=("Q1", "Q2")
    )
    assert relations_in(path) == []
    with open_for_relations(path, overwrite=False) as file:
        file.write(relation_line(relation, {"written_by": "demo"}))
        file.write(relation_line(Relation("P2", active=False)).rstrip("\n"))
    assert relations_in(path) == ["P1", "P2"]
    with open_for_relations(path, overwrite=False) as file:
        file.write(relation_line(Relation("P3")))
    assert json.loads(path.read_text().splitlines()[0])["written_by"] == "demo"
    read = [record for _, record, *_ in open_source("table", relations=path).relations()]
    assert read == [relation, Relation("P2", active=False), Relation("P3")]
    with path.open("a") as file:
        file.write('{"id"')
    with pytest.raises(KgprobeError, match=r"line 4: not JSON: .* Correct it"):
        relations_in(path)
    with open_for_relations(path, overwrite=True):
        pass
    assert relations_in(path) == []
