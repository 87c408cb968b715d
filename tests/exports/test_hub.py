"""A label table exported for the Hugging Face hub is read by ``datasets`` and valid as Croissant."""

from pathlib import Path

import pytest
import yaml

from kgprobe.errors import KgprobeError
from kgprobe.exports.hub import write_hub_folder
from kgprobe.labelling.table import LabelTable, write_label_table
from tests.labelling.test_table import CHAD, CONFIG, FRANCE


@pytest.fixture
def table(tmp_path: Path) -> LabelTable:
    config = {**CONFIG, "model": "hf:/home/someone/secret-project/tuned"}
    return write_label_table(tmp_path / "labels", config, [FRANCE, CHAD])


def test_exported_table_is_read_by_datasets_and_by_croissant(table: LabelTable, tmp_path: Path) -> None:
    import datasets
    import mlcroissant

    folder = write_hub_folder(table, tmp_path / "out", licence="cc0-1.0")
    read = datasets.load_dataset(str(folder), split="facts", cache_dir=str(tmp_path / "cache"))
    assert [row["fact"] for row in read] == ["f1", "f2"]
    assert read[0]["questions_answers"] == 3
    opened = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not opened.metadata.ctx.issues.errors
    records = list(opened.records("facts"))
    assert [(record["facts/object_name"], record["facts/known"]) for record in records] == [
        (b"Paris", 0.9),
        (b"N'Djamena", 0.1),
    ]


def test_card_counts_the_classes_of_the_facts_asked(table: LabelTable, tmp_path: Path) -> None:
    card = (write_hub_folder(table, tmp_path / "out") / "README.md").read_text()
    assert "know? 2 facts: 1 asked" in card
    assert "Mean probability of knowing a fact: 50.0%" in card
    assert "| slick | highly known | 1 | 100% [21, 100] |" in card
    # The predicted fact is in no class of the facts asked.
    assert "| belief | leans unknown | 0 |" in card
    header = yaml.safe_load(card.split("---")[1])
    assert header["configs"][0]["data_files"] == [{"split": "facts", "path": "data/facts.parquet"}]
    # A local model is named without its folder.
    assert "tuned" in card
    assert "secret-project" not in card


def test_existing_folder_is_refused(table: LabelTable, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(KgprobeError, match=r"exists\. Name a new folder"):
        write_hub_folder(table, tmp_path / "out")
