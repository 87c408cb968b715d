"""Data sets: made by the rules, read back, asked, and the same in lm-evaluation-harness to the fact."""

import json
import shutil
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.datasets.building import split_by_subject
from kgprobe.datasets.folder import COLUMNS, SPLITS, ChoiceRow, open_folder
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from kgprobe.probes.examples.items import ChoiceItem
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import save_base
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")

AS_OF = "2025-01-01"
RULES: dict[str, Any] = {"min_facts": 20, "min_objects": 8, "train": 6, "test": 12, "alternatives": 5}
WORDS = ["Łódź", "Tokyo", "York", "New York", "Kyoto", "Paris", "Zürich", "東京", "São Paulo", "Japan"]


def written() -> WrittenSource:
    """Two relations that qualify, one of years, and two that do not."""
    people = [Entity(f"p{n}", f"{WORDS[n % 10]} {n}") for n in range(24)]
    places = [Entity(f"t{n}", word) for n, word in enumerate(WORDS)]
    years = [Entity(str(1870 + n), str(1870 + n), value=str(1870 + n), datatype="year") for n in range(9)]
    days = [Entity(f"1879-03-1{n}", f"1{n} March 1879", value=f"1879-03-1{n}", datatype="date") for n in range(9)]
    facts = [
        *(Fact(f"l{n}", f"p{n % 20}", "lived", f"t{n % 7 if n < 20 else 7 + n % 3}") for n in range(24)),
        *(Fact(f"b{n}", f"p{n}", "born", f"{1870 + n % 9}") for n in range(24)),
        *(Fact(f"d{n}", f"p{n}", "born", f"1879-03-1{n % 2}") for n in range(2)),
        *(Fact(f"r{n}", f"p{n}", "rare", f"t{n % 9}") for n in range(15)),
        *(Fact(f"f{n}", f"p{n}", "few", f"t{n % 3}") for n in range(24)),
        *(Fact(f"x{n}", f"p{n}", "rare", f"t{n % 9}", end="1999") for n in range(15, 24)),
    ]
    relations = [Relation("lived", "lived in"), *(Relation(name) for name in ("born", "rare", "few"))]
    return WrittenSource([*people, *places, *years, *days], facts, relations)


def built(graph: Graph, folder: Path, **options: Any) -> Any:
    return kgprobe.build_dataset(graph, folder, as_of=AS_OF, **(RULES | options))


def rows_of(folder: Path, split: str) -> list[ChoiceRow]:
    return [row for _, row in open_folder(folder).rows(split)]


def test_data_set_follows_the_rules(graph: Graph, tmp_path: Path) -> None:
    source = written()
    load(graph, source)
    result = built(graph, tmp_path / "mc", licence="cc0-1.0")
    why = {one.relation: one.reason for one in result.relations}
    assert why == {"born": None, "few": "3 objects of 8", "lived": None, "rare": "15 facts of 20"}
    facts = {fact.id: fact for fact in source.fact_records if isinstance(fact, Fact)}
    entities = {one.id: one for one in source.entity_records if isinstance(one, Entity)}
    subjects: dict[str, set[tuple[str, str]]] = {}
    for split, count in (("train", 6), ("test", 12)):
        rows = rows_of(tmp_path / "mc", split)
        assert Counter(row.relation for row in rows) == {"born": count, "lived": count}
        subjects[split] = {(row.relation, row.subject_id) for row in rows}
        for row in rows:
            fact = facts[row.fact_id]
            assert (fact.subject, fact.relation, fact.object) == (row.subject_id, row.relation, row.object_id)
            assert row.relation_label == {"lived": "lived in"}.get(row.relation, row.relation)
            assert [entities[id_].label for id_ in row.choice_ids] == list(row.choices)
            right = {
                one.object for one in facts.values() if (one.subject, one.relation) == (row.subject_id, row.relation)
            }
            assert len(row.choices) == 6
            assert set(row.choice_ids) & right == {row.object_id}
            objects = {one.object for one in facts.values() if one.relation == row.relation}
            assert set(row.choice_ids) <= objects
            # Years stand beside years, days beside days.
            assert len({entities[id_].datatype for id_ in row.choice_ids}) == 1
    assert not subjects["train"] & subjects["test"]
    assert len({row.answer for row in rows_of(tmp_path / "mc", "test")}) > 2
    card = (tmp_path / "mc" / "README.md").read_text(encoding="utf-8")
    for said in (
        'license: "cc0-1.0"',
        "| few | few | 3 objects of 8 |",
        "| lived | lived in | 24 | 10 |",
        '"seed":0',
        "written",
    ):
        assert said in card


@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_one_seed_gives_one_data_set_and_datasets_reads_it(graph: Graph, tmp_path: Path, format_: str) -> None:
    load(graph, written())
    for name in ("one", "two"):
        built(graph, tmp_path / name, format=format_, name="mc")
    built(graph, tmp_path / "other", format=format_, seed=1)
    read = {name: (tmp_path / name / "data" / f"test.{format_}").read_bytes() for name in ("one", "two", "other")}
    assert read["one"] == read["two"] != read["other"]
    assert (tmp_path / "one" / "README.md").read_text() == (tmp_path / "two" / "README.md").read_text()
    import datasets

    loaded = datasets.load_dataset(str(tmp_path / "one"), cache_dir=str(tmp_path / "cache"))
    assert set(loaded) == set(SPLITS)
    for split in SPLITS:
        rows = [msgspec.structs.asdict(row) for row in rows_of(tmp_path / "one", split)]
        assert loaded[split].column_names == list(COLUMNS)
        assert [msgspec.convert(row, ChoiceRow) for row in loaded[split]] == [ChoiceRow(**row) for row in rows]


def test_what_does_not_qualify_is_told(graph: Graph, tmp_path: Path) -> None:
    load(graph, written())
    with pytest.raises(KgprobeError, match=r"None of 4 .* nearest, .* has 2\d facts and 1\d objects.*`min_facts`"):
        built(graph, tmp_path / "mc", min_facts=30)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KgprobeError, match="facts have 99 alternatives, too few for 6 to show and 12 to ask"):
        built(graph, tmp_path / "mc", alternatives=99)
    (tmp_path / "mc").mkdir()
    with pytest.raises(ArgumentError, match=r"`folder` is .* exists; name another"):
        built(graph, tmp_path / "mc")


def test_more_facts_are_drawn_if_alternatives_are_missing(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(graph, written())
    monkeypatch.setattr("kgprobe.datasets.building._BATCH", 2)
    monkeypatch.setattr("kgprobe.datasets.building._SPARE_SHARE", -0.9)
    built(graph, tmp_path / "mc", relations=["lived"])
    monkeypatch.undo()
    built(graph, tmp_path / "whole", relations=["lived"])
    for split in SPLITS:
        assert rows_of(tmp_path / "mc", split) == rows_of(tmp_path / "whole", split)


@given(st.lists(st.integers(1, 6), max_size=12), st.integers(1, 8), st.integers(1, 8))
def test_no_subject_is_shown_and_asked(groups: list[int], train: int, test: int) -> None:
    items = [
        ChoiceItem(AskedFact(FactKey(f"s{n}", f"f{n} {m}"), "r", "s", (), "o", "o", (), None, None), ())
        for n, size in enumerate(groups)
        for m in range(size)
    ]
    shown, asked = split_by_subject(items, train, test)
    assert len(shown) == min(train, len(items))
    assert {item.fact.key.subject for item in shown}.isdisjoint(item.fact.key.subject for item in asked)
    # At most one subject loses facts, and no more than it has.
    assert len(asked) >= min(test, len(items) - train - max(groups, default=0))
    assert len({item.fact.key for item in [*shown, *asked]}) == len(shown) + len(asked)


# Reading


def row(number: int, **changes: Any) -> dict[str, Any]:
    choices = [f"o{n}" for n in range(4)]
    return {
        "fact_id": f"f{number}",
        "relation": "r",
        "relation_label": "r",
        "subject": f"subject {number}",
        "subject_id": f"s{number}",
        "object": choices[number % 4],
        "object_id": choices[number % 4],
        "choices": choices,
        "choice_ids": choices,
        "answer": number % 4,
    } | changes


def write(folder: Path, format_: str, test: list[dict[str, Any]]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "data").mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", [row(n) for n in range(8)]), ("test", test)):
        path = folder / "data" / f"{split}.{format_}"
        if format_ == "jsonl":
            path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
        else:
            pq.write_table(pa.Table.from_pylist(rows), path)
    return folder


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in row(8).items() if key != name}


BROKEN: list[tuple[list[dict[str, Any]], str]] = [
    ([row(8), row(9, choices=["o1", "o1", "o2", "o3"])], r"2: 'o1' is twice in `choices`"),
    ([row(8, answer=3)], r"1: `answer` is 3, which is 'o3' \(o3\), and the object is 'o0'"),
    ([row(8, answer=9)], r"1: `answer` is 9, and the 4 choices are counted from 0"),
    ([row(8, object="elsewhere")], r"1: `answer` is 0"),
    ([row(8, choices=["o0"], choice_ids=["o0"])], r"1: `choices` has 1; at least 2 are expected"),
    ([row(8, choice_ids=["o0"])], r"1: `choice_ids` has 1 for 4"),
    ([without("choices")], r"choices.*A data set has fact_id, relation"),
    ([row(8, subject=None)], r"1: Expected `str`, got `null`"),
    ([row(1)], r"1: the fact s1 r o1 is also in .*train.*2"),
    (
        [row(8, relation="alone"), row(12, relation="alone")],
        r"1: the relation alone has only one object, o0, in all of its 2",
    ),
]


@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
@pytest.mark.parametrize(("test", "said"), BROKEN)
def test_what_is_wrong_with_a_row_is_told_with_its_place(
    tmp_path: Path, format_: str, test: list[dict[str, Any]], said: str
) -> None:
    with pytest.raises(KgprobeError, match=said) as raised:
        kgprobe.open(write(tmp_path, format_, test), kind="data set")
    assert f"test.{format_}" in str(raised.value)


def test_what_is_no_data_set_is_told(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="nowhere holds no data set"):
        kgprobe.open(tmp_path / "nowhere", kind="data set")
    with pytest.raises(ArgumentError, match=r"it needs data/train.parquet or data/train.jsonl, and has none"):
        kgprobe.open(tmp_path, kind="data set")
    write(write(tmp_path, "jsonl", [row(8)]), "parquet", [row(8)])
    with pytest.raises(ArgumentError, match="and has both"):
        kgprobe.open(tmp_path, kind="data set")
    (tmp_path / "data" / "train.jsonl").unlink()
    (tmp_path / "data" / "test.jsonl").unlink()
    (tmp_path / "data" / "test.parquet").write_text("no")
    with pytest.raises(KgprobeError, match=r"test.parquet cannot be read as Parquet"):
        kgprobe.open(tmp_path, kind="data set")


# Asking, and the harness


@cache
def tiny_folder(parent: Path) -> Path:
    save_base(parent / "model", max_position_embeddings=1024)
    return parent / "model"


@pytest.fixture(scope="module")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def tiny(tiny_path: Path) -> Model:
    return kgprobe.load_model(f"hf:{tiny_path}")


def names(number: int, **changes: Any) -> dict[str, Any]:
    labels = ["Tokyo", "New York", "York", "Łódź", "東京", "1879-03-14", "São Paulo", "Paris "]
    place = number % len(labels)
    # White space at a name's end stands in for the separator.
    subject = f"{WORDS[number % 10]} {number}" + (" " if number % 3 == 0 else "")
    answer = {"object": labels[place], "object_id": labels[place], "answer": place}
    return row(number, choices=labels, choice_ids=labels, subject=subject, **answer) | changes


def named_set(folder: Path) -> Path:
    (folder / "data").mkdir(parents=True)
    for split, numbers in (("train", range(8)), ("test", range(8, 24))):
        lines = [names(n) for n in numbers]
        lines += [names(n, relation="q", fact_id=f"q{n}", subject_id=f"q{n}") for n in numbers]
        (folder / "data" / f"{split}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    return folder


def test_limit_draws_facts_by_the_seed(tmp_path: Path, tiny: Model) -> None:
    folder = named_set(tmp_path / "mc")

    def facts(**options: Any) -> list[str]:
        output = tmp_path / "answers.jsonl"
        result = kgprobe.probe_dataset(folder, tiny, output=output, examples=2, **options)
        lines = [json.loads(line)["fact_id"] for line in output.read_text(encoding="utf-8").splitlines()]
        assert len(lines) == result.progress.facts
        return lines

    six, nine = facts(limit=6, seed=1), facts(limit=9, seed=1)
    assert (len(six), len(nine), set(six) < set(nine)) == (6, 9, True)
    assert set(facts(limit=6, seed=2)) != set(six)
    assert len(facts(limit=50, per_relation=2)) == 4


@pytest.mark.parametrize(("separator", "between"), [(" ", " "), (": ", "\\n"), (" is ruled from ", ". ")])
@pytest.mark.representatives(2)
def test_harness_says_the_same_of_each_fact(
    tmp_path: Path, tiny: Model, tiny_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str, between: str
) -> None:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    folder = named_set(tmp_path / "mc")
    layout: dict[str, Any] = {"examples": 4, "separator": separator, "between": between, "seed": 3}
    result = kgprobe.probe_dataset(folder, tiny, output=tmp_path / "answers.jsonl", **layout)
    task = kgprobe.export_dataset(folder, tmp_path / "tasks", model=tiny, **layout)
    assert (task.facts, list(task.notes)) == (32, [])
    samples, accuracy = harness_samples(tmp_path / "tasks", "mc", tiny_path)
    answers = {one["fact_id"]: one for one in map(json.loads, (tmp_path / "answers.jsonl").open())}
    assert len(samples) == len(answers) == 32
    rows = {one.fact_id: one for one in rows_of(folder, "test")}
    allowed = score_tolerance(tiny.local_scorer().model)
    for sample in samples:
        doc, answer = sample["doc"], answers[sample["doc"]["fact_id"]]
        values = [float(value) for ((value, _),) in sample["resps"]]
        own = dict(zip(rows[doc["fact_id"]].choice_ids, answer["log_probabilities"], strict=True))
        assert values == pytest.approx([own[id_] for id_ in doc["choice_ids"]], abs=allowed)
        best = doc["choice_ids"][values.index(max(values))]
        assert (best, bool(sample["acc"])) == (answer["predicted_id"], answer["right"])
        assert doc["prompt"] == answer["prompt"]
    assert accuracy == pytest.approx((result.to_frame()["verdict"] == "right").mean())
    assert result.progress.facts == 32


def harness_samples(tasks: Path, name: str, model: Path) -> tuple[list[Any], float]:
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    found = simple_evaluate(
        model=HFLM(pretrained=str(model), dtype="float32", batch_size=8, device="cpu"),
        tasks=[name],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        log_samples=True,
        bootstrap_iters=0,
    )
    return found["samples"][name], found["results"][name]["acc,none"]


def test_tie_is_no_knowledge_in_the_harness_either(tmp_path: Path) -> None:
    folder = named_set(tmp_path / "mc")
    kgprobe.export_dataset(folder, tmp_path / "tasks", examples=2, name="ties")
    lines = list(map(json.loads, (tmp_path / "tasks" / "ties" / "facts.jsonl").open()))
    rows = {one.fact_id: one for one in rows_of(folder, "test")}
    for line in lines:
        # The harness takes the first of equals.
        assert line["answer"] == len(line["continuations"]) - 1
        assert line["choice_ids"][-1] == rows[line["fact_id"]].object_id


def test_where_tokens_span_prompt_and_choice_it_is_told(tmp_path: Path, tiny: Model) -> None:
    folder = write(tmp_path / "mc", "jsonl", [row(n, subject="Tok") for n in range(8, 12)])
    for split in SPLITS:
        path = folder / "data" / f"{split}.jsonl"
        lines = [json.loads(line) for line in path.open()]
        for line in lines:
            line["choices"] = ["yo", "o is", "x", "y"]
            line["object"] = line["choices"][line["answer"]]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = kgprobe.export_dataset(folder, tmp_path / "tasks", model=tiny, examples=2, separator="")
    assert any("shares a token with the end of" in note for note in task.notes)
    spaced = kgprobe.export_dataset(folder, tmp_path / "tasks", model=tiny, examples=2, name="spaced")
    assert list(spaced.notes) == []


def test_prompts_are_fitted_to_a_context_in_both(tmp_path: Path, tiny_path: Path) -> None:
    shutil.copytree(tiny_path, tmp_path / "short")
    config = json.loads((tmp_path / "short" / "config.json").read_text())
    (tmp_path / "short" / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 64}))
    model = kgprobe.load_model(f"hf:{tmp_path / 'short'}")
    folder = named_set(tmp_path / "mc")
    result = kgprobe.probe_dataset(folder, model, output=tmp_path / "answers.jsonl", examples=7)
    task = kgprobe.export_dataset(folder, tmp_path / "tasks", model=model, examples=7)
    prompts = {one["fact_id"]: one["prompt"] for one in map(json.loads, (tmp_path / "answers.jsonl").open())}
    exported = {one["fact_id"]: one["prompt"] for one in map(json.loads, (task.folder / "facts.jsonl").open())}
    assert exported == prompts
    assert any("fewer than 7 examples" in note for note in [*task.notes, *result.tables()[0].notes])
