"""Pairs of flawed and corrected sentences."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Rejected
from kgprobe.verbalize.corrections import WrittenCloze, pair_up, read_verbalizations
from kgprobe.verbalize.sentences import Cloze

HEADER = ",triples_raw,triples,popularity,context,verbalization,errors,correction\n"


def written(tmp_path: Path, *records: tuple[str, str, str]) -> Path:
    path = tmp_path / "errors.csv"
    interval = "start=1990-01-01, end=None"
    lines = [
        f"""{n},"('Q1', 'P2', 'Q{n}')","({labels}, {interval})",1.5,past,"{text}",sub_deter,"{other}"\n"""
        for n, (labels, text, other) in enumerate(records)
    ]
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return path


def test_records_are_read(tmp_path: Path) -> None:
    (record,), _ = read_verbalizations(written(tmp_path, ("Łódź, lies in, Poland", "Łódź lies in Poland", "")))
    assert (record.subject, record.relation, record.object) == ("Q1", "P2", "Q0")
    assert (record.labels, record.context, record.text) == ("Łódź, lies in, Poland", "past", "Łódź lies in Poland")
    assert (record.errors, record.correction) == (("sub_deter",), "")


@pytest.mark.parametrize(
    ("labels", "flawed", "corrected", "label"),
    [
        ("He, is in, Party", "He is in", "He is in the", "Party"),
        # Names with commas: the longest end that fits.
        ("A, work place, Washington, D.C.", "A is in", "A was in", "Washington, D.C."),
        ("A, B and C, is, D", "A, B and C is", "A, B and C are", "D"),
        # A small letter at the beginning is left as it is.
        ("ale, is a, drink", "ale are a", "ale is a", "drink"),
    ],
)
def test_object_at_the_end_of_both_makes_a_pair(
    tmp_path: Path, labels: str, flawed: str, corrected: str, label: str
) -> None:
    record = (labels, f"{flawed} {label}", f"{corrected} {label}")
    (pair,), unpaired = pair_up(read_verbalizations(written(tmp_path, record))[0])
    assert not unpaired
    assert (pair.object_label, pair.flawed.prompt, pair.corrected.prompt) == (label, flawed, corrected)
    assert pair.flawed.continuations([label, " ", label]) == [label]


def test_names_fill_a_written_sentence_as_they_are() -> None:
    written, filled = WrittenCloze("he lives in [Y]", ""), Cloze("he lives in [Y]", "")
    assert (written.prompt, written.continuations(["Netherlands"])) == ("he lives in", ["Netherlands"])
    assert (filled.prompt, filled.continuations(["Netherlands"])) == ("He lives in", ["the Netherlands"])


@pytest.mark.parametrize(
    ("labels", "text", "subject", "about"),
    [
        ("York, lies in, England", "York lies in the England", "York", "Łódź lies in the"),
        # As it stands in the sentence, with its capital.
        ("ale, is a, drink", "Ale are a drink", "Ale", "Łódź are a"),
        ("A, B and C, wrote, D", "For A, B and C they wrote D", "A, B and C", "For Łódź they wrote"),
        # Not within another word: there is no place for another subject.
        ("York, lies in, England", "Yorkers lie in England", "York", "Yorkers lie in"),
        ("Ann [X], is, B", "So Ann [X] is B", "Ann [X]", "So Łódź is"),
    ],
)
def test_another_subject_can_take_its_place(tmp_path: Path, labels: str, text: str, subject: str, about: str) -> None:
    (pair,), _ = pair_up(read_verbalizations(written(tmp_path, (labels, text, f"Now {text}")))[0])
    assert pair.flawed.subject == subject
    assert text.startswith(pair.flawed.prompt)
    assert replace(pair.flawed, subject="Łódź").prompt == about


def test_quotation_marks_go_with_the_name(tmp_path: Path) -> None:
    path = written(tmp_path, ("A, followed by, B, C", "A is before B, C", "“A” is before “B, C”"))
    (pair,), _ = pair_up(read_verbalizations(path)[0])
    assert pair.corrected.prompt == "“A” is before"
    assert pair.corrected.continuations(["B, C", "D"]) == ["“B, C”", "“D”"]
    assert pair.flawed.continuations(["B, C", "D"]) == ["B, C", "D"]


@pytest.mark.parametrize(
    ("text", "correction", "reason"),
    [
        ("A is B", "", "it has errors and no correction"),
        ("B is A", "The B is A", "its object is not at the end of the verbalization"),
        ("A is B", "A is “B” only", "its object is not at the end of the correction"),
        ("A are Bs", "A is B", "its object is not at the end of the verbalization"),
        ("A are notB", "A is B", "its object is not at the end of the verbalization"),
        ("B", "A is B", "its object is not at the end of the verbalization"),
    ],
)
def test_what_makes_no_pair_says_why(tmp_path: Path, text: str, correction: str, reason: str) -> None:
    pairs, (unpaired,) = pair_up(read_verbalizations(written(tmp_path, ("A, is, B", text, correction)))[0])
    assert not pairs
    assert unpaired.reason == reason
    assert unpaired.verbalization.text == text


def test_papers_verbalizations(shared_data: Path) -> None:
    records, _ = read_verbalizations(shared_data / "distractors" / "verbalization_errors.csv")
    pairs, unpaired = pair_up(records)
    assert len(records) == len(pairs) + len(unpaired) == 152
    assert Counter(one.reason for one in unpaired) == {
        "its object is not at the end of the verbalization": 68,
        "its object is not at the end of the correction": 1,
    }
    # All with the object at the end are used: with another sentence as correction, or as their own.
    assert Counter(pair.differs for pair in pairs) == {True: 37, False: 46}
    for pair in pairs:
        correction = pair.verbalization.correction or pair.verbalization.text
        for cloze, text in ((pair.flawed, pair.verbalization.text), (pair.corrected, correction)):
            assert [f"{cloze.prompt} {name}" for name in cloze.continuations([pair.object_label])] == [text]


@pytest.mark.parametrize(("errors", "correction"), [("-", ""), ("sub_deter", "A is B"), ("-", "A is B")])
def test_pair_up_flawless_sentence_is_its_own_correction(tmp_path: Path, errors: str, correction: str) -> None:
    path = written(tmp_path, ("A, is, B", "A is B", correction))
    path.write_text(path.read_text().replace("sub_deter", errors))
    (pair,), unpaired = pair_up(read_verbalizations(path)[0])
    assert (pair.differs, pair.flawed, unpaired) == (False, pair.corrected, [])


def test_table_without_its_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "errors.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(KgprobeError, match="lacks columns: triples_raw"):
        read_verbalizations(path)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("0,oops,\"(a, b, c, start=None, end=None)\",1,past,x,-,\n", "'oops' is not a triple"),
        ("0,\"('a', 'b')\",\"(a, b, c, start=None, end=None)\",1,past,x,-,\n", "is not a triple"),
        ("0,\"('a', 'b', 'c')\",a b c,1,past,x,-,\n", "'a b c' is not"),
    ],
)  # fmt: skip
def test_damaged_row_costs_itself_alone(tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "errors.csv"
    good = "0,\"('a', 'b', 'c')\",\"(a, b, c, start=None, end=None)\",1,past,x,-,\n"
    path.write_text(HEADER + good + row + good, encoding="utf-8")
    verbalizations, (damaged,) = read_verbalizations(path)
    assert len(verbalizations) == 2
    assert isinstance(damaged.record, Rejected)
    assert damaged.line == 3
    assert reason in damaged.record.reason


@pytest.mark.parametrize("bad", [b"\xff", b"x" * 200_000], ids=["not UTF-8", "a cell without an end"])
def test_damaged_cell_rejects_only_its_record(tmp_path: Path, bad: bytes) -> None:
    path = written(tmp_path, *(("A, is, B", text, "A is B") for text in ("A are B", "SPOILT", "As are B")))
    path.write_bytes(path.read_bytes().replace(b"SPOILT", bad))
    records, (damaged,) = read_verbalizations(path)
    assert [record.text for record in records] == ["A are B", "As are B"]
    assert damaged.line == 3


def test_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match=r"nothing\.csv cannot be read"):
        read_verbalizations(tmp_path / "nothing.csv")
