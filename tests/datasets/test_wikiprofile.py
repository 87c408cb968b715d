"""WikiProfile's file: what is read of a row with the published columns, and how bad files and rows are reported."""

import csv
from pathlib import Path

import pytest

from kgprobe.datasets.wikiprofile import read_wikiprofile
from kgprobe.errors import ArgumentError

COLUMNS = (
    *("fact_id", "page_title", "item_id", "gbc", "category", "subject", "object", "subject_type", "object_type"),
    *("completion", "contextual", "direct", "direct_answer", "direct_natural", "direct_choices"),
    *("reverse", "reverse_answer", "reverse_natural", "reverse_choices"),
)


def row(number: int = 1, **changed: str) -> dict[str, str]:
    """Return a made-up row with the published columns."""
    subject, object_ = f"Aria {number}", f"Borough {number}"
    made = {
        "fact_id": f"page{number}__0",
        "page_title": subject,
        "item_id": f"Q{number}",
        "gbc": "77",
        "category": "Music",
        "subject": subject,
        "object": object_,
        "subject_type": "WORK",
        "object_type": "PLACE",
        "completion": f"{subject} is a song. It was first sung in",
        "contextual": f"{subject} is a song. Where was it first sung?",
        "direct": f"In which place was the song {subject} first sung?",
        "direct_answer": object_,
        "direct_natural": f"Where did people hear {subject} for the first time?",
        "direct_choices": str([object_, "Cairo", "Delhi", "Essen"]),
        "reverse": f"Which song was first sung in {object_}?",
        "reverse_answer": subject,
        "reverse_natural": f"What did people hear in {object_} for the first time?",
        "reverse_choices": str(["Fugue", subject, "Gloria", "Hymn"]),
    }
    return made | changed


def write(path: Path, rows: list[dict[str, str]], columns: tuple[str, ...] = COLUMNS) -> Path:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_row_is_read_with_its_tasks_answers_and_choices(tmp_path: Path) -> None:
    long = row(2, completion="A context over\n\nlines, with a comma, up to", direct_answer="['Borough 2', 'B 2']")
    file = read_wikiprofile(write(tmp_path / "wikiprofile.csv", [row(1), long]))
    first, second = file.facts
    assert (first.id, first.category, first.subject, first.object) == ("page1__0", "Music", "Aria 1", "Borough 1")
    assert first.texts == {name: row(1)[name] for name in first.texts}
    assert set(first.texts) == {"completion", "contextual", "direct", "direct_natural", "reverse", "reverse_natural"}
    assert first.answers == {"direct": ["Borough 1"], "reverse": ["Aria 1"]}
    assert first.choices == {"direct": ["Cairo", "Delhi", "Essen"], "reverse": ["Fugue", "Gloria", "Hymn"]}
    assert second.texts["completion"] == "A context over\n\nlines, with a comma, up to"
    assert second.answers["direct"] == ["Borough 2", "B 2"]
    assert not file.skipped
    assert not file.lacks_context


def test_optional_columns_may_be_missing(tmp_path: Path) -> None:
    fewer = tuple(name for name in COLUMNS if name not in ("contextual", "category") and "choices" not in name)
    file = read_wikiprofile(write(tmp_path / "wikiprofile.csv", [row()], fewer))
    assert file.lacks_context
    assert file.facts[0].choices == {"direct": [], "reverse": []}


def test_unusable_rows_are_counted_by_reason(tmp_path: Path) -> None:
    rows = [row(1), row(1), row(2, reverse=" "), row(3, reverse=""), row(4, direct_choices="not a list")]
    file = read_wikiprofile(write(tmp_path / "wikiprofile.csv", rows))
    assert [fact.id for fact in file.facts] == ["page1__0", "page4__0"]
    assert file.skipped == {"its reverse is missing or white space": 2, "its fact_id is also in an earlier row": 1}
    assert file.facts[1].choices["direct"] == []


def test_file_without_a_column_is_refused_with_those_that_it_has(tmp_path: Path) -> None:
    path = write(tmp_path / "other.csv", [row()], ("fact_id", "subject", "object"))
    with pytest.raises(ArgumentError, match=r"no column completion, direct.*it has fact_id, subject, object"):
        read_wikiprofile(path)
    with pytest.raises(ArgumentError, match=r"of which no row can be used\..*1: its object is missing"):
        read_wikiprofile(write(path, [row(object="")]))
    with pytest.raises(ArgumentError, match=r"cannot be read as CSV: No such file or directory\.$"):
        read_wikiprofile(tmp_path / "none.csv")
