"""The card of a label table: ``datasets`` reads the folder by it."""

from pathlib import Path

import pytest
import yaml

from kgprobe.labelling.card import CARD, write_card
from kgprobe.labelling.table import LabelledFact, LabelTable, write_label_table

CONFIG = {"model": "demo", "ways": ["questions"]}
CLASSES = ("highly known", "unknown", None)


def labelled(number: int) -> LabelledFact:
    names = (f"f{number}", f"Q{number}", f"Land {number}", "P36", "capital", "Q9", "A|B", "asked")
    labels = (0.9, 0.7, 1.0, "surely known", CLASSES[number % 3], None, {"questions": (number, 7)})
    return LabelledFact(*names, *labels)


@pytest.fixture
def table(tmp_path: Path) -> LabelTable:
    table = write_label_table(tmp_path / 'labels "of" two', CONFIG, map(labelled, range(7)))
    write_card(table)
    return table


def test_load_dataset_of_the_folder_returns_the_rows(table: LabelTable, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    loaded = datasets.load_dataset(str(table.folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == table.to_frame().astype(object).where(table.to_frame().notna(), None).to_dict("records")


def test_card_has_a_header_and_describes_every_column(table: LabelTable) -> None:
    _, header, body = (table.folder / CARD).read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(header)
    assert (card["pretty_name"], card["size_categories"]) == ('labels "of" two', ["n<1K"])
    assert [line.split("`")[1] for line in body.splitlines() if line.startswith("| `")] == list(table.to_frame())


def test_card_names_the_model_without_its_folder(tmp_path: Path) -> None:
    own = write_label_table(tmp_path / "labels", {**CONFIG, "model": "hf:/home/ada/models/tuned"}, [labelled(1)])
    write_card(own)
    text = (own.folder / CARD).read_text(encoding="utf-8")
    assert ("language model tuned knows it" in text, '"model": "tuned"' in text, "/home/ada" in text) == (
        True,
        True,
        False,
    )


def test_card_written_again_has_the_same_bytes(table: LabelTable) -> None:
    before = (table.folder / CARD).read_bytes()
    write_card(table)
    assert (table.folder / CARD).read_bytes() == before
