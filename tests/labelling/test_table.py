"""The label table is read as it was written."""

from pathlib import Path

import pytest

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.labelling.table import LabelledFact, check_classes, read_label_table, write_label_table

CONFIG = {"model": "demo", "ways": ["distractors", "questions"]}
FRANCE = LabelledFact(
    *("f1", "Q142", "France", "P36", "capital", "Q90", "Paris", "asked", 0.9, 0.7, 1.0),
    *("surely known", "highly known", "recalled", {"distractors": (3, 3), "questions": (2, 3)}),
)
CHAD = LabelledFact(
    *("f2", "Q657", "Chad", "P36", "capital", "Q3659", "N'Djamena", "predicted", 0.1, 0.0, 0.4),
    *("leans unknown", None, None, {}),
)


def test_table_written_and_read_has_equal_rows(tmp_path: Path) -> None:
    write_label_table(tmp_path / "labels", CONFIG, [FRANCE, CHAD])
    table = read_label_table(tmp_path / "labels")
    assert (list(table.rows()), len(table), table.model) == ([FRANCE, CHAD], 2, "demo")
    assert table.to_frame()["questions_answers"].tolist()[0] == 3


def test_rows_of_classes_match_any_scheme(tmp_path: Path) -> None:
    table = write_label_table(tmp_path / "labels", CONFIG, [FRANCE, CHAD])
    assert list(table.rows(["leans unknown"])) == [CHAD]
    assert list(table.rows(["highly known", "leans unknown"])) == [FRANCE, CHAD]


def test_unknown_class_names_the_schemes() -> None:
    with pytest.raises(ArgumentError, match=r"has no class .forgotten.\..*slick: highly known"):
        check_classes(["unknown", "forgotten"])


def test_table_of_other_settings_is_refused(tmp_path: Path) -> None:
    write_label_table(tmp_path / "labels", CONFIG, [FRANCE])
    with pytest.raises(KgprobeError, match="made with other settings"):
        write_label_table(tmp_path / "labels", {**CONFIG, "model": "hf:other"}, [FRANCE])
