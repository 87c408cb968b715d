"""``kgprobe load verbalizations``: the facts of a table of corrected sentences."""

from pathlib import Path

import pytest

from kgprobe.errors import KgprobeError
from kgprobe.records import Entity, Fact, Rejected, Relation
from kgprobe.sources.contract import open_source

HEADER = ",triples_raw,triples,popularity,context,verbalization,errors,correction\n"


def table(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "corrections.csv"
    path.write_text(HEADER + "".join(f"{number},{line}\n" for number, line in enumerate(lines)), encoding="utf-8")
    return path


def test_the_facts_of_pairs_are_loaded_each_once(tmp_path: Path) -> None:
    first = """"('Q1', 'P2', 'Q3')","(York, lies in, Yorkshire, England, start=1990, end=None)"""
    path = table(
        tmp_path,
        f'{first}",1.5,past,"York lie in Yorkshire, England",x,"York lies in Yorkshire, England"',
        f'{first}",1.5,past,"York lay in Yorkshire, England",x,"York lies in Yorkshire, England"',
        # A flaw without a correction makes no pair.
        """"('Q8', 'P2', 'Q9')","(A, is, B, start=None, end=None)",1.5,past,A is B,x,""",
        """"('Q1', 'P4', 'Q5')","(York, has, cats, start=None, end=2001-05)",1,past,York have cats,x,York has cats""",
    )
    source = open_source("verbalizations", table=path)
    assert [placed.record for placed in source.relations()] == [Relation("P2", "lies in"), Relation("P4", "has")]
    assert [placed.record for placed in source.entities()] == [
        Entity("Q1", "York"),
        Entity("Q3", "Yorkshire, England"),
        Entity("Q5", "cats"),
    ]
    facts = list(source.facts())
    assert [placed.record for placed in facts] == [
        Fact("Q1 P2 Q3 @1990", "Q1", "P2", "Q3", start="1990"),
        Fact("Q1 P4 Q5", "Q1", "P4", "Q5", end="2001-05"),
    ]
    assert [placed.line for placed in facts] == [2, 5]
    assert source.done == source.total == path.stat().st_size


@pytest.mark.parametrize(
    ("ids", "interval", "reason"),
    [
        ("('', 'P2', 'Q3')", "start=None, end=None", "id of the subject is empty"),
        ("('Q1', 'P2', 'Q3')", "start=soon, end=None", "'soon'"),
        ("('Q1', 'P2', 'Q3')", "start=2000, end=1990", "the end 1990 lies before the start 2000"),
    ],
)
def test_a_fact_that_cannot_be_used_is_told_and_leaves_nothing_behind(
    tmp_path: Path, ids: str, interval: str, reason: str
) -> None:
    source = open_source(
        "verbalizations", table=table(tmp_path, f'"{ids}","(A, is, B, {interval})",1,past,A are B,x,A is B')
    )
    assert not [*source.relations(), *source.entities()]
    (placed,) = source.facts()
    assert isinstance(placed.record, Rejected)
    assert placed.line == 2
    assert reason in placed.record.reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('Q1,"(A, is, B, start=None, end=None)",1,past,A are B,x,A is B', "'Q1' is not a triple of ids"),
        ("\"('Q1', 'P2', 'Q3')\",A is B,1,past,A are B,x,A is B", "'A is B' is not (subject, relation, object, start="),
    ],
)
def test_a_damaged_record_is_rejected_and_the_others_are_read(tmp_path: Path, line: str, reason: str) -> None:
    good = """"('Q1', 'P4', 'Q5')","(York, has, cats, start=None, end=None)",1,past,York have cats,x,York has cats"""
    source = open_source("verbalizations", table=table(tmp_path, line, good))
    first, second = source.facts()
    assert isinstance(first.record, Rejected)
    assert (first.line, first.record.reason.startswith(reason)) == (2, True)
    assert second.record == Fact("Q1 P4 Q5", "Q1", "P4", "Q5")


def test_what_is_no_such_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "facts.csv"
    path.write_text("subject,object\n")
    with pytest.raises(KgprobeError, match="lacks columns: triples_raw"):
        open_source("verbalizations", table=path)


def test_every_pair_of_the_papers_table_is_loaded(shared_data: Path) -> None:
    source = open_source("verbalizations", table=shared_data / "distractors" / "verbalization_errors.csv")
    assert not [placed for placed in source.facts() if isinstance(placed.record, Rejected)]
    assert len(list(source.facts())) == 83
    assert not [placed for placed in source.entities() if not placed.record.label]


@pytest.mark.parametrize("bad", [b"\xff", b"x" * 200_000], ids=["not UTF-8", "a cell without an end"])
def test_one_bad_row_costs_itself_alone(tmp_path: Path, bad: bytes) -> None:
    row = """"('Q1', 'P{}', 'Q5')","(York, has, cats, start=None, end=None)",1,past,{},x,York has cats"""
    path = table(tmp_path, row.format(4, "York have cats"), row.format(6, "SPOILT"), row.format(8, "York have cats"))
    path.write_bytes(path.read_bytes().replace(b"SPOILT", bad))
    facts = list(open_source("verbalizations", table=path).facts())
    assert [placed.line for placed in facts if isinstance(placed.record, Rejected)] == [3]
    assert [placed.record.relation for placed in facts if isinstance(placed.record, Fact)] == ["P4", "P8"]
