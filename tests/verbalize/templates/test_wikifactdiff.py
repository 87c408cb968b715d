"""WikiFactDiff's sentences about example facts as templates of relations."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.records import Rejected, Relation
from kgprobe.sources.contract import open_source
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.templates.file import read_relations
from kgprobe.verbalize.templates.patterns import read_patterns
from kgprobe.verbalize.templates.wikifactdiff import is_wikifactdiff, template_of
from tests.cli.inprocess import run as kgprobe

CAPITAL = {"id": "P36", "label": "capital", "description": "seat of government"}


def verbalized(subject: str, *blanks: str | None, relation: Any = CAPITAL, error: str | None = None) -> dict[str, Any]:
    """Return a line of ``verbalizations.jsonl`` with all keys of the published file."""
    sentences = [
        {
            "verbalization": blank or "It is elsewhere.",
            "contains_object": True,
            "contains_subject": True,
            "ends_with_object": blank is not None,
            "fill_in_the_blank": blank,
        }
        for blank in blanks
    ]
    return {
        "triple": {
            "subject": {"id": "Q20", "label": subject, "description": "a country"},
            "relation": relation,
            "object": {"id": "Q585", "label": "Oslo", "description": "a city"},
        },
        "chatgpt_options": {"use_support": True},
        "verbalizations": None if error else sentences,
        "total_tokens": 250,
        "chatgpt_response": "1. …",
        "extraction_failed": error is not None,
        "error": error,
    }


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records))
    return path


FILE = (
    verbalized("Norway", "Norway's capital is ____", "The capital of Norway is ____", "Oslo", None),
    verbalized("Chad", "The capital of Chad is '____", "Chad is governed from ____", "In Chadian eyes, it is ____"),
    verbalized("United States", "The capital of the United States is ____", '"The United States"\' seat is ____'),
    verbalized("Mali", error="content_filter"),
    verbalized("Ada", "ADA was born in ____", relation={"id": "P19", "label": None, "description": None}),
)


def test_most_frequent_sentences_become_templates(tmp_path: Path) -> None:
    converted = read_patterns([write(tmp_path / "verbalizations.jsonl", *FILE)])
    assert list(converted.relations) == [
        Relation(
            "P36",
            "capital",
            description="seat of government",
            clozes=(
                "The capital of [X] is [Y]",
                "[X]'s capital is [Y]",
                "[X] is governed from [Y]",
                "[X]' seat is [Y]",
            ),
        ),
        Relation("P19", clozes=("[X] was born in [Y]",)),
    ]
    assert list(converted.problems) == [
        "verbalizations.jsonl, line 1: 2 sentences do not end in the blank, first here; they are left out.",
        "verbalizations.jsonl, line 2: 1 sentence does not contain its subject exactly once; it is left out.",
        "verbalizations.jsonl, line 4: 1 line has an error of the model that wrote the sentences; it is left out.",
    ]


def test_five_templates_are_kept_by_number_of_examples(tmp_path: Path) -> None:
    sentences = [f"{'very ' * place}near A lies ____" for place in range(7)]
    records = [verbalized("A", *sentences[place:]) for place in range(7)]
    (relation,) = read_patterns([write(tmp_path / "verbs.jsonl", *records)]).relations
    assert list(relation.clozes) == [f"{'very ' * place}near [X] lies [Y]" for place in (6, 5, 4, 3, 2)]


def test_data_set_itself_is_read(tmp_path: Path) -> None:
    update = {
        "subject": {"id": "Q20", "label": "Norway", "description": "a country"},
        "relation": CAPITAL,
        "update_prompt": "The capital of Norway is ____",
        "generalization_prompts": ["Norway is governed from ____"],
        "is_replace": True,
        "objects": [{"id": "Q585", "label": "Oslo", "description": "a city", "decision": "learn"}],
        "neighborhood": [],
    }
    path = write(tmp_path / "wikifactdiff.jsonl", "", update, update)
    (relation,) = read_patterns([path]).relations
    assert relation.clozes == ("The capital of [X] is [Y]", "[X] is governed from [Y]")


@pytest.mark.parametrize("label", ["", " ", "[X]", "[Y]", "____", "(", "A" * 100_000, "The"])
def test_labels_of_any_form_leave_no_broken_template(tmp_path: Path, label: str) -> None:
    path = write(tmp_path / "verbalizations.jsonl", verbalized(label, f"The capital of {label} is ____", "____"))
    for placed in read_relations(open_input(path)):
        if isinstance(placed.record, Relation):
            assert all(text.count("[X]") == text.count("[Y]") == 1 for text in placed.record.clozes)


@pytest.mark.parametrize(
    ("sentence", "subject", "template"),
    [
        ("Iranian and Iran are not one: ____", "Iran", "Iranian and [X] are not one: [Y]"),
        ("Iran or Iran is ____", "Iran", "[X] or [X] is [Y]"),
        ("'Dune' was directed by \"____", "Dune", "[X] was directed by [Y]"),
        ("The Hague lies in ____", "The Hague", "[X] lies in [Y]"),
        ("Iran is ____.", "Iran", "[X] is ____."),
    ],
)
def test_template_of_a_sentence(sentence: str, subject: str, template: str) -> None:
    assert template_of(sentence, subject) == template


def test_templates_of_a_loader_are_recognised(tmp_path: Path) -> None:
    path = write(tmp_path / "verbalizations.jsonl", *FILE)
    assert is_wikifactdiff(open_input(path))
    dump = write(tmp_path / "entities.json", {"id": "P36", "type": "property", "labels": {}})
    source = open_source("wikidata", dump=dump, templates=path)
    records = [placed.record for placed in source.relations()]
    relations = {record.id: record for record in records if isinstance(record, Relation)}
    assert relations["P36"].clozes[:2] == ("The capital of [X] is [Y]", "[X]'s capital is [Y]")
    assert relations["P36"].statements[0] == "The capital of [X] is [Y]."
    assert sum(isinstance(record, Rejected) for record in records) == 3
    ours = write(tmp_path / "ours.jsonl", {"id": "P36", "clozes": ["The capital of [X] is [Y]"]})
    assert not is_wikifactdiff(open_input(ours))


def test_convert_writes_a_file_that_passes_the_check(tmp_path: Path) -> None:
    path, output = write(tmp_path / "verbalizations.jsonl", *FILE), tmp_path / "templates.jsonl"
    assert kgprobe("templates", "write", "--patterns", str(path), "-o", str(output)).returncode == 0
    assert [json.loads(line)["id"] for line in output.read_text().splitlines()] == ["P36", "P19"]
    assert kgprobe("templates", "list", str(output), "--check").returncode == 0
