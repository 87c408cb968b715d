"""The closed-book column: each question gets the label of its fact, or the mean of its entities' facts."""

import json
from pathlib import Path

import pytest

import kgprobe
from kgprobe.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.labelling.table import LabelledFact, LabelTable, write_label_table
from tests.cli.inprocess import run
from tests.exports.own_graphs import CONFIG


def label(fact: str, subject: str, object_: str, known: float) -> LabelledFact:
    return LabelledFact(
        *(fact, subject, subject.title(), "P36", "capital", object_, object_.title(), "asked", known, 0.0, 1.0),
        *("leans known" if known > 0.5 else "leans unknown", "unknown", None, {}),
    )


LABELS = [
    label("f1", "france", "paris", 0.9),
    label("f2", "chad", "n'djamena", 0.1),
    # Two terms of one triple.
    label("f3", "chad", "abéché", 0.2),
    label("f4", "chad", "abéché", 0.3),
]


@pytest.fixture
def table(tmp_path: Path) -> LabelTable:
    return write_label_table(tmp_path / "labels", CONFIG, LABELS)


QUESTIONS = [
    {"question": "Capital of France?", "fact": "f1", "gold": ["Paris"]},
    {"subject": "Chad", "relation": "Capital", "object": "N'DJAMENA"},
    {"subject": "chad", "relation": "P36", "object": "Abéché"},
    {"entities": ["Chad", "France", "nowhere"]},
    {"entity": "nowhere"},
    {"subject": "chad", "fact": "f1"},
    {"question": "Why?"},
]
KNOWN = [0.9, 0.1, None, pytest.approx((0.9 + 0.1 + 0.2 + 0.3) / 4), None, None, None]
MISSING = [
    *(None, None, "several labelled facts have these names", None, "its entities have no labelled facts"),
    *("its fact has no label", "names neither a fact nor entities"),
]


def test_questions_get_the_labels_of_their_facts(table: LabelTable, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text("\n\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    done = kgprobe.export_closed_book(table, tmp_path / "questions.jsonl", tmp_path / "out.jsonl")
    written = [json.loads(line) for line in done.path.read_text(encoding="utf-8").splitlines()]
    assert [row["closed_book_known"] for row in written] == KNOWN
    assert [row["closed_book_missing"] for row in written] == MISSING
    assert [row["closed_book_facts"] for row in written] == [1, 1, 2, 4, 0, 0, 0]
    assert [row["closed_book_class"] for row in written] == ["unknown", "unknown", None, None, None, None, None]
    assert [{key: row[key] for key in question} for row, question in zip(written, QUESTIONS, strict=True)] == QUESTIONS
    assert str(done).splitlines()[0].endswith("3 of 7 questions have labels.")
    assert sum(done.missing.values()) == 4


def test_command_writes_the_questions(table: LabelTable, tmp_path: Path) -> None:
    questions, out = tmp_path / "questions.jsonl", tmp_path / "out.jsonl"
    questions.write_text('{"fact": "f2"}\n', encoding="utf-8")
    command = ["export", "closed-book", str(table.folder), "--questions", str(questions), "-o", str(out)]
    done = run(*command, "--scheme", "belief")
    assert (done.returncode, done.stderr) == (0, f"{out}: 1 of 1 questions have labels.\n")
    assert json.loads(out.read_text())["closed_book_class"] == "leans unknown"
    again = run(*command)
    assert (again.returncode, "--force overwrites it" in " ".join(again.stderr.split())) == (2, True), again.stderr
    onto = run(*command[:-1], str(questions), "--force")
    assert (onto.returncode, "--output is" in onto.stderr, questions.stat().st_size) == (2, True, 15), onto.stderr
    command.append("--force")
    questions.write_text('{"fact": "f2"}\n[1]\n', encoding="utf-8")
    assert "line 2: expected an object, found '[1]'" in " ".join(run(*command).stderr.split())


def test_unreadable_questions_are_named_with_their_line(table: LabelTable, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"fact": "f2"}\n{"fact"', encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"bad\.jsonl, line 2: not JSON"):
        kgprobe.export_closed_book(table, tmp_path / "bad.jsonl", tmp_path / "out.jsonl")
    with pytest.raises(ArgumentError, match=r"none\.jsonl, which cannot be read: No such file or directory\.$"):
        kgprobe.export_closed_book(table, tmp_path / "none.jsonl", tmp_path / "out.jsonl")
    (tmp_path / "bad.jsonl").write_text('\n{"closed_book_known": 0.3, "fact": "f2"}', encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"bad\.jsonl, line 2: has closed_book_known already"):
        kgprobe.export_closed_book(table, tmp_path / "bad.jsonl", tmp_path / "out.jsonl")
    (tmp_path / "bad.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"bad\.jsonl, which has no questions"):
        kgprobe.export_closed_book(table, tmp_path / "bad.jsonl", tmp_path / "out.jsonl")


def test_byte_order_mark_is_skipped(table: LabelTable, tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"fact": "f2"}\n', encoding="utf-8-sig")
    done = kgprobe.export_closed_book(table, tmp_path / "questions.jsonl", tmp_path / "out.jsonl")
    assert (done.questions, done.missing) == (1, {})


def test_unknown_names_are_counted_apart(example_endpoint: Endpoint, table: LabelTable, tmp_path: Path) -> None:
    questions = [{"entity": "Germany"}, {"entity": "Q183"}, {"entities": ["Gremany"]}, {"entity": "France"}]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    with Graph(example_endpoint) as graph:
        for own in (graph, lambda: graph):
            done = kgprobe.export_closed_book(table, tmp_path / "questions.jsonl", tmp_path / "out", graph=own)
            assert done.missing == {
                "its entities have no labelled facts": 2,
                "no entity of the graph has this name": 1,
            }
