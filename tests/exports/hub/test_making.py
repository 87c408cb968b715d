"""Published label tables: readers of data sets and of Croissant get the rows of the table."""

import json
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

import kgprobe
from kgprobe.errors import ArgumentError
from kgprobe.labelling.table import LabelledFact, LabelTable, write_label_table
from tests.cli.inprocess import run

CONFIG = {"model": "demo", "ways": ["questions"]}
CLASSES = ("highly known", "unknown", None)


def labelled(number: int) -> LabelledFact:
    names = (f"f{number}", f"Q{number}", f"Land {number}", "P36", "capital", "Q9", "A|B", "asked")
    labels = (0.9, 0.7, 1.0, "surely known", CLASSES[number % 3], None, {"questions": (number, 7)})
    return LabelledFact(*names, *labels)


@pytest.fixture
def table(tmp_path: Path) -> LabelTable:
    return write_label_table(tmp_path / "labels", CONFIG, map(labelled, range(7)))


def test_datasets_reads_the_rows_of_the_table(table: LabelTable, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    published = kgprobe.export_hub(table, tmp_path / "published", name='A "title"', licence="cc0-1.0")
    loaded = datasets.load_dataset(str(published.folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == table.to_frame().astype(object).where(table.to_frame().notna(), None).to_dict("records")


def test_card_header_and_counts_are_those_of_the_table(table: LabelTable, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
    published = kgprobe.export_hub(table, tmp_path / "published", name='A "title"', licence="cc0-1.0")
    _, header, body = (published.folder / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(header)
    assert (card["pretty_name"], card["license"], card["size_categories"]) == ('A "title"', "cc0-1.0", ["n<1K"])
    counts = Counter(row.slick for row in table.rows())
    assert f"| `slick` | unknown | {counts['unknown']} |" in body
    assert [(row["class_"], row["facts"]) for row in published.rows()] == [
        ("highly known", counts["highly known"]),
        ("unknown", counts["unknown"]),
        ("surely known", 7),
    ]


def test_folder_of_the_model_is_not_published(tmp_path: Path) -> None:
    own = write_label_table(tmp_path / "labels", {**CONFIG, "model": "hf:/home/ada/models/tuned"}, [labelled(1)])
    folder = kgprobe.export_hub(own, tmp_path / "published").folder
    for name in ("README.md", "croissant.json"):
        text = (folder / name).read_text(encoding="utf-8")
        assert ("language model tuned knows it" in text, "/home/ada" in text) == (True, False)
    assert '"model": "tuned"' in (folder / "README.md").read_text(encoding="utf-8")


def test_croissant_is_valid_and_reads_the_rows(table: LabelTable, tmp_path: Path) -> None:
    croissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    published = kgprobe.export_hub(table, tmp_path / "published")
    metadata = croissant.Dataset(jsonld=published.folder / "croissant.json")
    assert not metadata.metadata.issues.errors
    rows = list(islice(metadata.records("facts"), 20))
    assert [row["facts/fact"].decode() for row in rows] == [row.fact for row in table.rows()]
    assert [row["facts/questions_right"] for row in rows] == list(range(7))


def test_same_table_gives_the_same_bytes(table: LabelTable, tmp_path: Path) -> None:
    folders = [kgprobe.export_hub(table, tmp_path / name).folder for name in ("one", "two")]
    first, second = ([path.read_bytes() for path in sorted(folder.rglob("*.*"))] for folder in folders)
    assert (first == second, len(first)) == (True, 3)


def test_existing_folder_is_refused(table: LabelTable, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="which exists"):
        kgprobe.export_hub(table, tmp_path)


def test_command_writes_the_folder(table: LabelTable, tmp_path: Path) -> None:
    done = run("export", "hub", str(table.folder), "-o", str(tmp_path / "hub"), "--json", KGPROBE_HOME=str(tmp_path))
    assert json.loads(done.stdout)["facts"] == 7, done.stderr
    assert (tmp_path / "hub" / "croissant.json").exists()
    again = run("export", "hub", str(table.folder), "-o", str(tmp_path / "hub"), KGPROBE_HOME=str(tmp_path))
    assert (again.returncode, "--output is" in again.stderr) == (2, True), again.stderr
