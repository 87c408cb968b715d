"""Import of published data sets: T-REx-MC's layout, hostile rows, and the templates of the relations."""

import json
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.datasets.folder import ChoiceRow, cloze_templates, open_folder
from kgprobe.datasets.importing import read_choices
from tests.cli.inprocess import run

CITIES = {"France": "Paris", "Japan": "Tokyo", "Norway": "Oslo", "Chad": "N'Djamena", "Peru": "Lima", "Iran": "Tehran"}
YEARS = {"Bohr": "1885", "Curie": "1867", "Pauli": "1900", "Noether": "1882"}


def published_row(relation: int, name: str, subject: str, object_: str, others: list[str], **changes: Any) -> Any:
    return {
        "Relation_ID": relation,
        "Relation Name": name,
        "Subject": subject,
        "Object": object_,
        # As in the published files: without the object, in Python's notation.
        "Multiple Choices": str([other for other in others if other != object_]),
        "Title": subject,
        "Text": f"{subject} is …",
    } | changes


def published_rows() -> list[dict[str, Any]]:
    capitals = [published_row(50, "capital", *pair, list(CITIES.values())) for pair in CITIES.items()]
    born = [published_row(3, "born in", *pair, list(YEARS.values())) for pair in YEARS.items()]
    return [*capitals, *born]


def publish(folder: Path, train: list[Any], test: list[Any], form: str = "parquet") -> Path:
    import pandas as pd

    (folder / "data").mkdir(parents=True)
    for split, rows in (("train", train), ("test", test)):
        path = folder / "data" / f"{split}-00000-of-00001.{form}"
        if form == "jsonl":
            lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
            path.write_text("\n".join(lines), encoding="utf-8")
        elif form == "csv":
            pd.DataFrame(rows).to_csv(path, index=False)
        else:
            pd.DataFrame(rows).to_parquet(path)
    return folder


def rows_of(folder: Path, split: str) -> list[ChoiceRow]:
    return [row for _, row in open_folder(folder).rows(split)]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_published_layout_gives_facts_with_choices(tmp_path: Path, form: str) -> None:
    rows = published_rows()
    source = publish(tmp_path / "published", rows[::2], rows[1::2], form)
    (source / "data" / "relationID_names.json").write_text('{"50": ["P36", "capital"], "3": ["P569", "date of birth"]}')
    imported = kgprobe.import_dataset(source, tmp_path / "mc")
    assert (imported.skipped, imported.merged_choices) == ({}, 0)
    for split, expected in (("train", rows[::2]), ("test", rows[1::2])):
        written = rows_of(tmp_path / "mc", split)
        assert len(written) == len(expected)
        for row, published in zip(written, expected, strict=True):
            assert (row.subject, row.object) == (published["Subject"], published["Object"])
            assert set(row.choices) == {published["Object"], *read_choices(published["Multiple Choices"])}
            assert row.relation == {50: "P36", 3: "P569"}[published["Relation_ID"]]
    labels = {relation.relation: relation.label for relation in imported.relations}
    assert labels == {"P36": "capital", "P569": "date of birth"}
    # The right choice has no fixed place.
    assert len({row.answer for row in rows_of(tmp_path / "mc", "test")}) > 1
    import datasets

    loaded = datasets.load_dataset(str(tmp_path / "mc"), cache_dir=str(tmp_path / "cache"))
    assert {split: len(loaded[split]) for split in loaded} == {"train": 5, "test": 5}


HOSTILE: list[tuple[Any, str]] = [
    ({"Subject": "  "}, "its Subject is missing or white space"),
    ({"Object": None}, "its Object is missing or white space"),
    ({"Relation_ID": None}, "its Relation_ID is missing or not a number"),
    ({"Multiple Choices": "Paris, Tokyo"}, "its Multiple Choices are not a list"),
    ({"Multiple Choices": "[" * 5_000}, "its Multiple Choices are not a list"),
    ({"Multiple Choices": "__import__('os')"}, "its Multiple Choices are not a list"),
    ({"Multiple Choices": "['Paris', None]"}, "one of its Multiple Choices is not a text, or white space"),
    ({"Multiple Choices": r"['Paris', '\ud800']"}, "a text is not valid Unicode"),
    ({"Multiple Choices": "['Lagos']", "Object": "Lagos"}, "it has no choice besides its object"),
    ({"Subject": "France", "Object": "Paris"}, "its fact is also in an earlier row"),
    ({"Relation_ID": 77}, "its relation has a single object, so that the examples reveal it"),
    ("[1, 2]", "its Relation_ID is missing or not a number"),
    ('{"Subject": ', "its Relation_ID is missing or not a number"),
]


@pytest.mark.parametrize(("changes", "reason"), HOSTILE)
def test_import_hostile_row_is_counted_and_skipped(tmp_path: Path, changes: Any, reason: str) -> None:
    rows = published_rows()
    hostile = changes
    if isinstance(changes, dict):
        hostile = published_row(50, "capital", "Nigeria", "Abuja", ["Paris", "Tokyo"]) | changes
    source = publish(tmp_path / "published", rows[::2], [*rows[1::2], rows[0], hostile], "jsonl")
    imported = kgprobe.import_dataset(source, tmp_path / "mc")
    # France is in both splits, and counts as a test fact.
    assert imported.skipped.pop("its fact is also in an earlier row") == 1 + (reason.startswith("its fact"))
    assert imported.skipped == ({} if reason.startswith("its fact") else {reason: 1})
    assert len(rows_of(tmp_path / "mc", "test")) == 6
    assert reason in (tmp_path / "mc" / "README.md").read_text(encoding="utf-8")


def test_import_object_among_choices_is_merged(tmp_path: Path) -> None:
    rows = published_rows()
    rows[1]["Multiple Choices"] = "['Tokyo', 'Paris', 'Paris', 'Oslo']"
    imported = kgprobe.import_dataset(publish(tmp_path / "published", rows[::2], rows[1::2]), tmp_path / "mc")
    assert imported.merged_choices == 2
    assert sorted(rows_of(tmp_path / "mc", "test")[0].choices) == ["Oslo", "Paris", "Tokyo"]


def test_import_unusable_source_is_refused_without_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"`source` is .*nowhere.*not a folder"):
        kgprobe.import_dataset(tmp_path / "nowhere", tmp_path / "mc")
    source = publish(tmp_path / "published", published_rows()[:2], [{"Subject": "France"}], "csv")
    with pytest.raises(KgprobeError, match="has no column Relation_ID, Object, Multiple Choices; it has Subject"):
        kgprobe.import_dataset(source, tmp_path / "mc")
    (source / "data" / "test-00000-of-00001.csv").unlink()
    with pytest.raises(ArgumentError, match=r"has no file test\*.parquet"):
        kgprobe.import_dataset(source, tmp_path / "mc")
    bad = [published_row(1, "r", "a", "b", [])]
    with pytest.raises(KgprobeError, match=r"No row of the data set can be used\. 2: it has no choice"):
        kgprobe.import_dataset(publish(tmp_path / "bad", bad, bad), tmp_path / "mc")
    assert not (tmp_path / "mc").exists()


def test_import_templates_are_kept_and_others_are_generic(tmp_path: Path) -> None:
    rows = published_rows()
    source = publish(tmp_path / "published", rows[::2], rows[1::2])
    lines = [
        {"id": "50", "clozes": ["The capital of [X] is [Y]", "[X] has [Y]."], "mined_clozes": ["[X] embassy in [Y]"]},
        {"id": "404", "clozes": ["[X] is [Y]"]},
    ]
    templates = tmp_path / "templates.jsonl"
    templates.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    home = {"KGPROBE_HOME": str(tmp_path / "home")}
    arguments = ("dataset", "build", str(tmp_path / "mc"), "--published", str(source), "--templates", str(templates))
    refused = run(*arguments, "--train", "10", **home)
    assert (refused.returncode, "--train has no effect with --published" in refused.stderr) == (2, True), refused.stderr
    done = run(*arguments, "--json", **home)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["skipped"] == {}
    hand, generic = cloze_templates(tmp_path / "mc", {"50": "capital", "3": "born in"}, "hand")
    assert (hand["50"], generic) == (["The capital of [X] is [Y]", "[X] has [Y]"], ["3"])
    assert hand["3"][0].endswith("[Y]")
    mined, _ = cloze_templates(tmp_path / "mc", {"50": "capital", "3": "born in"}, "mined")
    assert mined == {"50": ["[X] embassy in [Y]"]}
    made, generic = cloze_templates(tmp_path / "mc", {"50": "capital", "3": "born in"}, "generic")
    assert (made["3"], generic) == (hand["3"], ["50", "3"])
    assert made["50"] != hand["50"]


def test_relation_without_usable_other_objects_is_left_out(tmp_path: Path) -> None:
    capitals = published_rows()
    usable = published_row(7, "mascot", "A", "Bear", ["Bear", "Cat"])
    damaged = published_row(7, "mascot", "B", "Cat", ["Bear"], **{"Multiple Choices": "no list"})
    source = publish(tmp_path / "published", [*capitals[::2], usable], [*capitals[1::2], damaged])
    imported = kgprobe.import_dataset(source, tmp_path / "mc")
    assert imported.skipped == {
        "its relation has a single object, so that the examples reveal it": 1,
        "its Multiple Choices are not a list": 1,
    }
    assert {row.relation for row in rows_of(tmp_path / "mc", "train")} == {"50", "3"}


def test_many_rows_make_few_row_groups(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    names = [f"name {number}" for number in range(1_100)]
    rows = [published_row(1, "twin", f"s{number}", name, names[:3]) for number, name in enumerate(names)]
    kgprobe.import_dataset(publish(tmp_path / "published", rows[:1_050], rows[1_050:]), tmp_path / "mc")
    assert pq.ParquetFile(open_folder(tmp_path / "mc").files["train"]).num_row_groups == 3
    assert [row.subject for row in rows_of(tmp_path / "mc", "train")] == [row["Subject"] for row in rows[:1_050]]
