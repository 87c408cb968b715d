"""The label table is read as it was written, and refused if it is damaged."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest

from kgprobe.answers.settings import CONFIG as CONFIG_FILE
from kgprobe.answers.settings import WRITTEN, read_config, write_config
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.labelling.labels import read_labels_of
from kgprobe.labelling.settings import STATISTICS
from kgprobe.labelling.statistics import LabelStatistics
from kgprobe.labelling.table import (
    FACTS,
    LabelledFact,
    check_classes,
    read_label_table,
    write_label_table,
)
from kgprobe.results.kind_names import LABEL_TABLE

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


def stored_table(folder: Path) -> Path:
    write_label_table(folder, CONFIG, [FRANCE, CHAD], msgspec.json.encode(LabelStatistics()))
    return folder


def changed_facts(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], None]:
    """Return a function that changes the rows of a table by pandas."""

    def damage(folder: Path) -> None:
        schema = pq.read_schema(folder / FACTS)
        frame = change(pd.read_parquet(folder / FACTS, dtype_backend="numpy_nullable"))
        if set(frame.columns) == set(schema.names):
            frame.to_parquet(folder / FACTS, index=False, schema=schema)
        else:
            frame.to_parquet(folder / FACTS, index=False)

    return damage


def assigned(**values: object) -> Callable[[Path], None]:
    return changed_facts(lambda frame: frame.assign(**values))


def changed_settings(**values: object) -> Callable[[Path], None]:
    return lambda folder: write_config(folder, {**read_config(folder, LABEL_TABLE), **values})


DAMAGES = {
    "doubled": (changed_facts(lambda frame: pd.concat([frame, frame])), r"several rows of the fact f1"),
    "fewer": (changed_facts(lambda frame: frame[:1]), r"1 rows in place of 2"),
    "nan": (assigned(known_low=[0.1, None]), r"in row 2, known_low is None"),
    "negative": (assigned(known=[-1.0, 0.1]), r"in row 1, known is -1\.0"),
    "nameless": (assigned(subject_name=[None, "Chad"]), r"in row 1, subject_name is None"),
    "class": (assigned(slick=["odd", None]), r"in row 1, slick is odd"),
    "counts": (assigned(questions_right=[4, None]), r"in row 1, questions_right is 4"),
    "half a count": (assigned(questions_answers=[3, 3]), r"in row 2, questions_right is None"),
    "lacking": (changed_facts(lambda frame: frame.drop(columns="belief")), r"no column belief of the type string"),
    "additional": (assigned(note="x"), r"the column note, which label tables do not have"),
    "renamed": (assigned(object_name=["Lutetia", "N'Djamena"]), r"facts.parquet is damaged: it has been changed"),
    "statistics": (lambda folder: (folder / STATISTICS).write_text("{}"), r"statistics.json is damaged: it has been"),
    "no statistics": (lambda folder: (folder / STATISTICS).unlink(), r"damaged: it cannot be read .*statistics.json"),
    "model": (changed_settings(model="hf:other"), r"config.json is damaged: it has been changed"),
    "ways": (changed_settings(ways=None), r"config.json is damaged: Expected `array`, got `null`"),
    "state": (changed_settings(graph="{"), r"config.json is damaged: Input data was truncated"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_table_is_refused_with_the_fault(tmp_path: Path, damage: str) -> None:
    folder = stored_table(tmp_path / "labels")
    change, fault = DAMAGES[damage]
    change(folder)
    with pytest.raises(KgprobeError, match=f"{fault}.*delete the folder and repeat the kgprobe label command"):
        read_label_table(folder)


@pytest.mark.parametrize("damage", ["doubled", "nan", "lacking"])
def test_damaged_table_of_another_program_is_refused(tmp_path: Path, damage: str) -> None:
    folder = stored_table(tmp_path / "labels")
    change, fault = DAMAGES[damage]
    config = read_config(folder, LABEL_TABLE)
    del config[WRITTEN]
    write_config(folder, config)
    assert len(read_label_table(folder)) == 2
    change(folder)
    with pytest.raises(KgprobeError, match=fault):
        read_label_table(folder)


def test_randomly_damaged_tables_give_no_internal_error(tmp_path: Path) -> None:
    folder, drawn, refused = stored_table(tmp_path / "labels"), random.Random(0), 0
    contents = {name: (folder / name).read_bytes() for name in (CONFIG_FILE, FACTS, STATISTICS)}
    # Digests alone would refuse almost all.
    settings = json.loads(contents[CONFIG_FILE])
    contents[CONFIG_FILE] = json.dumps({name: settings[name] for name in CONFIG}).encode()
    for _ in range(260):
        name = drawn.choice(list(contents))
        content = bytearray(contents[name])
        start, length = drawn.randrange(len(content)), drawn.randrange(1, 9)
        content[start : start + length] = drawn.choice([b"", drawn.randbytes(length), bytes(length)])
        for other, whole in contents.items():
            (folder / other).write_bytes(content if other == name else whole)
        refused += 1
        with suppress(KgprobeError):
            table = read_label_table(folder)
            assert read_labels_of(table).asked_facts <= len(list(table.rows()))
            refused -= 1
    assert refused > 100
