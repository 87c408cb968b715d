"""Texts of results in one place: summaries, titles and headings of tables, columns and keys, one file per kind.

``KGPROBE_WRITE_TEXTS=1 python -m pytest tests/api/test_result_texts.py`` writes the files again.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

import kgprobe
from kgprobe.graph.client import Graph
from kgprobe.labelling.roles import FactRole
from kgprobe.models.model import Model
from kgprobe.results.measurement import Measurement
from kgprobe.results.result import Result, StoredResult
from tests.api.labelled_world import label_all, well_read
from tests.conftest import REPOSITORY
from tests.results.rendering.page_numbers import apart, label_numbers
from tests.stored import store_measurement
from tests.task_logs.written import write_lines

TEXTS = REPOSITORY / "tests" / "data" / "result_texts"
AS_OF = {"as_of": "2025-12-31"}
CAPITALS = {"relations": ["P36"], **AS_OF}
FACTS = ["Q142 P36 Q90", "Q30 P35 Q22686"]
FEW = {"distractors": 2, "sentences": 1, **CAPITALS}
RULES = {"min_facts": 50, "min_objects": 20, "train": 10, "test": 30, "alternatives": 9}
ROLES = [FactRole(f"Q{n}", f"f{n:03}", role) for n, role in enumerate(["taught", "held out", "neighbour", "far"] * 50)]
LOGS = {"first": [0.0, 1.0] * 50, "second": [1.0] * 100}

_NUMBERS = re.compile(r"[+-]?\d[\d,.:]*(?:e-?\d+)?")
_PLACES = re.compile(r"(?:/[\w.@~+-]+){2,}/?")


class World:
    """The results that other results are made of, each made once."""

    def __init__(self, graph: Graph, tiny: Model, folder: Path) -> None:
        self.graph, self.tiny, self.folder = graph, tiny, folder
        self.base = kgprobe.measure(graph, tiny, limit=8, name="base", **FEW)
        self.questions = kgprobe.measure(graph, well_read(), "questions", limit=8, name="questions", **CAPITALS)
        self.run = kgprobe.run_rounds(
            graph, tiny, name="texts", rounds=2, facts_per_round=8, aim="estimate", distractors=2, **CAPITALS
        )
        self.labels = label_all(graph)

    def up(self, name: str, wrong: int = 100, **config: object) -> Measurement:
        """Return a measurement of 200 facts with made-up answers."""
        right = {f"f{number:03}": number >= wrong for number in range(200)}
        folder = self.folder / "made-up" / name
        if not folder.exists():
            store_measurement(folder, right, **{"model": name, **config})
        return kgprobe.open(folder)


@pytest.fixture(scope="module")
def made(example_graph: Graph, tiny: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("texts")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KGPROBE_HOME", str(folder))
        yield World(example_graph, tiny, folder)
        kgprobe.delete("texts", example_graph)


KINDS: dict[str, Callable[[World], Result]] = {
    "fact sample": lambda made: kgprobe.sample_facts(made.graph, 3, **CAPITALS),
    "distractor sample": lambda made: kgprobe.sample_distractors(made.graph, FACTS, distractors=2, **AS_OF),
    "negative sample": lambda made: kgprobe.sample_negatives(made.graph, FACTS, 2, **AS_OF),
    "statement sample": lambda made: kgprobe.sample_statements(made.graph, FACTS, 2, **AS_OF),
    "question sample": lambda made: kgprobe.sample_questions(made.graph, FACTS, **AS_OF),
    "control sample": lambda made: kgprobe.sample_controls(made.graph, FACTS, limit=20, **AS_OF),
    "templates": lambda made: kgprobe.list_templates(made.graph, ["P36"], **AS_OF),
    "template check": lambda made: kgprobe.check_templates(made.graph),
    "graph size": lambda made: kgprobe.describe_graph(made.graph),
    "communities": lambda made: kgprobe.find_ignorance(made.graph),
    "path": lambda made: kgprobe.known_path(made.graph, "Q142", "Q183"),
    "measurement": lambda made: made.base.finding(),
    "questions": lambda made: made.questions.finding(),
    "run": lambda made: made.run.finding(),
    "estimate": lambda made: kgprobe.estimate_rates(made.graph, "texts"),
    "comparison": lambda made: kgprobe.compare([made.up("one"), made.up("two", 60)]),
    "check": lambda made: kgprobe.check(made.up("before"), made.up("after", 60)),
    "check with roles": lambda made: kgprobe.check(made.up("untaught"), made.up("taught", 60), roles=ROLES),
    "gap": lambda made: kgprobe.gap(made.up("stored"), made.up("said", 60, probe="questions", model="stored")),
    "task logs": lambda made: kgprobe.compare(
        [write_lines(made.folder / name / "samples_own.jsonl", values) for name, values in LOGS.items()]
    ),
    "labels": lambda made: made.labels,
    "label comparison": lambda made: kgprobe.compare([made.labels, made.labels]),
    "data set": lambda made: kgprobe.build_dataset(made.graph, made.folder / "mc", **RULES, **CAPITALS),
    "training set": lambda made: kgprobe.export_sft(made.graph, "mine", made.folder / "sft", teach=["not encoded"]),
    "study": lambda made: kgprobe.study_distractor_count(made.graph, made.tiny, limit=4, **CAPITALS, distractors=2),
    "papers": lambda made: kgprobe.paper(),
    "paper": lambda made: kgprobe.paper("kglens"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_texts_of_a_result_are_as_written(made: World, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(made.folder))
    text = texts_of(KINDS[kind](made))
    file = TEXTS / f"{kind.replace(' ', '_')}.txt"
    if "KGPROBE_WRITE_TEXTS" in os.environ:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


STORED: dict[str, Callable[[World], Result]] = {
    **{kind: KINDS[kind] for kind in ("check", "check with roles", "gap", "task logs", "label comparison", "study")},
    "comparison": KINDS["comparison"],
    "rates": lambda made: kgprobe.rate_table([made.base.page().parent], graphs=["example"]),
    "task losses": lambda made: kgprobe.check(
        *[write_lines(made.folder / name / "samples_own.jsonl", values) for name, values in LOGS.items()]
    ),
}


@pytest.mark.parametrize("kind", STORED)
@pytest.mark.representatives(3)
def test_stored_result_is_opened_as_it_was(made: World, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(made.folder))
    result = STORED[kind](made)
    assert isinstance(result, StoredResult)
    page = result.page()
    opened = kgprobe.open(page.parent)
    assert type(opened) is type(result)
    assert msgspec.json.encode(opened.to_dict()) == msgspec.json.encode(result.to_dict())
    assert (opened.tables(), opened.checks(), opened.summary()) == (result.tables(), result.checks(), result.summary())
    assert opened.page() == page
    written = page.read_text(encoding="utf-8")
    assert opened.page(made.folder / "again" / "page").read_text(encoding="utf-8") == written


def test_page_of_labels_shows_one_number_for_one_thing(made: World) -> None:
    numbers = label_numbers(made.labels.page().read_text(encoding="utf-8"))
    assert apart(numbers) == {}
    assert {meaning for meaning, texts in numbers.items() if len(texts) > 1} >= {"asked facts", "profile: not encoded"}


def test_every_file_of_texts_is_of_a_kind() -> None:
    assert {file.stem.replace("_", " ") for file in TEXTS.glob("*.txt")} == set(KINDS)


def texts_of(result: Result) -> str:
    """Return the texts of a result, without its numbers and paths."""
    lines = [f"class: {type(result).__name__}"]
    lines.append(f"keys: {', '.join(sorted(result.to_dict()))}")
    lines.append(f"columns: {', '.join(getattr(result, 'columns', ()))}")
    for table in result.tables():
        lines += ["", f"table: {plain(table.title)}", f"headings: {' | '.join(map(plain, table.columns))}"]
        lines += [f"note: {plain(note)}" for note in table.notes]
    # The facts that a line shows follow from the model.
    summary = [line for line in result.summary().splitlines() if "→" not in line]
    lines += ["", *(f"note: {plain(note)}" for note in result.notes), *map(plain, summary)]
    return "\n".join(lines).strip() + "\n"


def plain(text: str) -> str:
    """Return a text with # in place of numbers and … in place of paths."""
    return _NUMBERS.sub("#", _PLACES.sub("…", text))
