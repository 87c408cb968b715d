"""Files of edits: each format is recognized by its keys, and what a file lacks is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgprobe.edits.edit_files import COUNTERFACT, EASYEDIT, RIPPLEEDITS, TRIPLES, read_edit_file
from kgprobe.errors import ArgumentError

TRIPLE = {"subject": "France", "relation": "capital", "object": "Rome"}
KNOWEDIT = {"subject": "Spain", "prompt": "The capital of Spain is", "target_new": "Oslo"}
ZSRE = {"subject": "Spain", "src": "What is the capital of Spain?", "alt": "Oslo", "answers": ["Madrid"]}
REWRITE = {"prompt": "{} lies in", "subject": "Oslo", "target_new": {"str": "Peru"}, "target_true": {"str": "Norway"}}
RIPPLE = {"example_type": "recent", "edit": {"prompt": "It is.", "subject_id": "Q1", "target_id": "Q2"}}


def written(folder: Path, content: str) -> Path:
    path = folder / "edits"
    path.write_text(content, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("records", "name"),
    [
        ([KNOWEDIT, KNOWEDIT], EASYEDIT),
        ([ZSRE], EASYEDIT),
        ([{"requested_rewrite": REWRITE}], COUNTERFACT),
        ([RIPPLE], RIPPLEEDITS),
    ],
)
def test_read_edit_file_published_array_is_recognized(tmp_path: Path, records: list[Any], name: str) -> None:
    file = read_edit_file(written(tmp_path, json.dumps(records)))
    assert (file.format, [number for number, _ in file.records]) == (name, list(range(1, len(records) + 1)))
    assert not file.problems


@pytest.mark.parametrize(
    "content",
    [
        "France\tcapital\tRome",
        "subject\trelation\tobject\told\nFrance\tcapital\tRome\n",
        json.dumps(TRIPLE),
        "\ufeffFrance\tcapital\tRome\r\n",
    ],
)
def test_read_edit_file_lines_are_triples(tmp_path: Path, content: str) -> None:
    file = read_edit_file(written(tmp_path, content))
    assert file.format == TRIPLES
    assert [record for _, record in file.records] == [TRIPLE]


def test_read_edit_file_faulty_lines_are_reported(tmp_path: Path) -> None:
    lines = [json.dumps(TRIPLE), '{"subject": "Spain"', json.dumps({"subject": "Peru", "relation": "capital"})]
    file = read_edit_file(written(tmp_path, "\n".join(lines)))
    assert len(file.records) == 1
    assert "line 2" in file.problems[0]
    assert file.problems[1].endswith("record 3: as triples, it lacks object.")
    file = read_edit_file(written(tmp_path, "France\tcapital\tRome\nSpain\tcapital\n"))
    assert "line 2: expected the columns subject, relation, object" in file.problems[0]


def test_read_edit_file_of_no_format_names_what_each_lacks(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps([{"question": "What?", "answer": "That."}]))
    with pytest.raises(ArgumentError) as caught:
        read_edit_file(path)
    for part in (
        "as triples it lacks subject, relation, object",
        "as EasyEdit it lacks prompt or src or update, target_new or alt or ans",
        "as CounterFact it lacks requested_rewrite, an object",
        "as RippleEdits it lacks edit, an object",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("content", "fault"), [("", "is empty"), ("[1, 2]", "not a JSON array of objects"), ("one", "has no edits")]
)
def test_read_edit_file_unusable_file_is_an_error(tmp_path: Path, content: str, fault: str) -> None:
    with pytest.raises(ArgumentError, match=fault):
        read_edit_file(written(tmp_path, content))
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_edit_file(tmp_path / "none")
