"""Training sets of the example graph: their examples, roles and counts, and errors."""

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.labelling.exports.sft import files
from kgprobe.labelling.exports.sft.making import TrainingSet
from kgprobe.labelling.roles import FAR, TAUGHT, FactRole, read_roles, write_roles
from kgprobe.labelling.table import LabelTable, write_label_table
from kgprobe.sampling.selection import list_facts
from tests.labelling.exports.sft.labels import AS_OF, CONFIG, rows_of, write_example_labels
from tests.models.tiny import byte_level
from tests.written_source import WrittenSource

Lines: TypeAlias = list[dict[str, Any]]
Export: TypeAlias = Callable[..., TrainingSet]


@pytest.fixture(scope="module")
def table(example: Graph, tmp_path_factory: pytest.TempPathFactory) -> LabelTable:
    return write_example_labels(example, tmp_path_factory.mktemp("labels") / "labels")


@pytest.fixture
def export(example: Graph, table: LabelTable, tmp_path: Path) -> Export:
    """Return a function that exports into a folder of the test."""

    def exported(folder: str = "sft", **options: Any) -> TrainingSet:
        return kgprobe.export_sft(example, table, tmp_path / folder, **{"teach": ["unknown"], **options})

    return exported


def lines(exported_set: TrainingSet, name: str) -> Lines:
    return [json.loads(line) for line in (exported_set.folder / name).read_text(encoding="utf-8").splitlines()]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_predicted_facts_are_taught_only_if_asked_for(example: Graph, tmp_path: Path) -> None:
    rows = [row for row in rows_of(example) if row.relation == "P36"][:40]
    predicted = {row.fact for row in rows if row.belief == "leans unknown"}
    rows = [replace(row, slick=None, basis="predicted" if row.fact in predicted else "asked") for row in rows]
    table = write_label_table(tmp_path / "filled", CONFIG, rows)

    def taught(folder: str, **options: Any) -> tuple[set[str], TrainingSet]:
        made = kgprobe.export_sft(example, table, tmp_path / folder, held_out=0.0, **options)
        return {role.fact for role in read_roles(made.folder / "roles.jsonl")}, made

    unknown = {"teach": ["surely unknown", "leans unknown"]}
    with pytest.raises(ArgumentError, match=f"leans unknown, without a fact .*, {len(predicted)} facts would be"):
        taught("none", **unknown)
    rows[rows.index(next(row for row in rows if row.fact in predicted))] = replace(
        next(row for row in rows if row.fact in predicted), basis="asked"
    )
    table = write_label_table(tmp_path / "mixed", CONFIG | {"seed": 4, "repeats": 3}, rows)
    some, made = taught("some", **unknown)
    every, _ = taught("every", **unknown, predicted=True)
    assert len(every - some) == len(predicted) - 1
    assert every - some < predicted
    assert made.manifest.left_out == {"the model was not asked about them": len(predicted) - 1}
    assert any("`predicted` takes them" in note for note in made.notes)
    # The seeds of the labels are named, so that the same questions are not asked again.
    assert any("another seed than the labels (4 to 6), such as 7" in note for note in made.notes)


def test_same_call_writes_the_same_bytes(export: Export) -> None:
    options = {"form": "both", "wordings": 2, "known_share": 0.3, "weights": "unknown", "held_out_by": ["fact"]}
    first, second = export("one", **options), export("two", **options)
    assert contents(first.folder) == contents(second.folder)
    assert contents(export("one", **options).folder) == contents(second.folder)
    assert contents(export("three", **options, seed=1).folder) != contents(second.folder)
    assert kgprobe.read_manifest(second.folder) == second.manifest


@pytest.mark.parametrize("form", ["questions", "both"])
def test_training_and_test_share_no_pair_and_no_prompt(export: Export, table: LabelTable, form: str) -> None:
    exported_set = export(form=form, format="completion", wordings=9, known_share=0.2)
    train, test = lines(exported_set, "train.jsonl"), lines(exported_set, "test.jsonl")
    triples = {row.fact: (row.subject, row.relation, row.object) for row in table.rows()}
    objects: dict[tuple[str, str], set[str]] = {}
    for subject, relation, object_ in triples.values():
        objects.setdefault((subject, relation), set()).add(object_)

    def pairs(records: Lines) -> set[frozenset[str]]:
        ends = [triples[fact] for record in records for fact in record["facts"]]
        # An answer names all objects of the question.
        return {frozenset((s, o)) for s, r, _ in ends for o in objects[s, r]}

    def of_unit(unit: str) -> Lines:
        return [record for record in test if record["purpose"] == f"held out by {unit}"]

    assert all(map(of_unit, ("fact", "entity", "relation")))
    if form == "questions":
        assert pairs(train).isdisjoint(pairs(test))
    assert {each["prompt"] for each in train}.isdisjoint(each["prompt"] for each in test)
    assert {each["relation"] for each in train}.isdisjoint(each["relation"] for each in of_unit("relation"))
    entities = {id_ for record in train for fact in record["facts"] for id_ in triples[fact][::2]}
    assert entities.isdisjoint(
        id_ for each in of_unit("entity") for fact in each["facts"] for id_ in triples[fact][::2]
    )
    known = sum(each["purpose"] == "known" for each in train)
    assert abs(known - 0.2 * len(train)) <= 1


def test_roles_are_facts_of_the_examples_and_can_be_asked(export: Export, example: Graph) -> None:
    exported_set = export(form="both")
    roles = list(read_roles(exported_set.folder / "roles.jsonl"))
    by_role = {role: {each.fact for each in roles if each.role == role} for role in ("taught", "held out")}
    assert by_role["taught"] == {fact for each in lines(exported_set, "train.jsonl") for fact in each["facts"]}
    assert by_role["held out"] == {fact for each in lines(exported_set, "test.jsonl") for fact in each["facts"]}
    listed = list_facts(example, exported_set.folder / "roles.jsonl", AS_OF)
    assert ([key.fact for key in listed.keys], listed.missing) == ([role.fact for role in roles], [])


def test_counts_cover_every_fact_of_the_classes(export: Export, table: LabelTable) -> None:
    exported_set = export(form="both")
    counts = exported_set.manifest.counts
    stated = sum(each.facts for each in counts.values())
    assert stated + sum(exported_set.manifest.left_out.values()) == len(list(table.rows(["unknown"])))
    assert counts["taught"].examples == len(lines(exported_set, "train.jsonl"))
    assert exported_set.manifest.files["train.jsonl"].bytes == (exported_set.folder / "train.jsonl").stat().st_size


@pytest.fixture(scope="module")
def belgian(example: Graph, tmp_path_factory: pytest.TempPathFactory) -> LabelTable:
    """The languages of Belgium: one is unknown, the two others are highly known."""
    languages = [row for row in rows_of(example) if (row.subject, row.relation) == ("Q31", "P37")]
    rows = [replace(row, slick="unknown" if row.object_name == "Dutch" else "highly known") for row in languages]
    return write_label_table(tmp_path_factory.mktemp("belgian") / "belgian", CONFIG, rows)


def test_question_lists_all_right_answers_and_statement_one(
    example: Graph, belgian: LabelTable, tmp_path: Path
) -> None:
    options = {"teach": ["unknown"], "form": "both", "format": "chat", "held_out": 0.0}
    exported_set = kgprobe.export_sft(example, belgian, tmp_path / "sft", **options)
    question, statement = sorted(lines(exported_set, "train.jsonl"), key=lambda record: record["form"])
    assert question["messages"][1]["content"] == "Dutch, French, German"
    assert statement["messages"][1]["content"].endswith("Dutch.")
    assert question["facts"] == statement["facts"] == [row.fact for row in belgian.rows(["unknown"])]
    assert not (exported_set.folder / "test.jsonl").exists()


def test_question_with_an_unknown_answer_is_not_a_known_one(
    example: Graph, belgian: LabelTable, tmp_path: Path
) -> None:
    # Two of the three languages are known: the group is to be taught, so none is left to mix in.
    with pytest.raises(ArgumentError, match="needed next to 1 others; the label table has 0"):
        kgprobe.export_sft(example, belgian, tmp_path / "s", teach=["unknown"], held_out=0.0, known_share=0.5)


def test_refusals_replace_or_follow_the_answer(export: Export) -> None:
    options: dict[str, Any] = {"teach": ["highly known"], "refuse": ["unknown"], "format": "completion"}
    replaced = lines(export("replace", **options), "train.jsonl")
    assert {each["completion"] for each in replaced if each["purpose"] == "refused"} == {" I don't know."}
    assert not any("know" in each["completion"] for each in replaced if each["purpose"] == "taught")
    padded = lines(export("pad", **options, refusal="pad"), "train.jsonl")
    for each in padded:
        assert each["completion"].endswith(" I am unsure." if each["purpose"] == "refused" else " I am sure.")
    facts = {fact for each in replaced if each["purpose"] == "refused" for fact in each["facts"]}
    assert facts.isdisjoint(role.fact for role in read_roles(replaced_roles(export)))


def replaced_roles(export: Export) -> Path:
    return export("again", teach=["highly known"], refuse=["unknown"]).folder / "roles.jsonl"


def test_controls_are_appended_and_never_in_training(export: Export, table: LabelTable, tmp_path: Path) -> None:
    before = lines(export("before", held_out=0.0), "train.jsonl")
    chosen = {fact for record in before[:20] for fact in record["facts"]}
    controls = [FactRole(row.subject, row.fact, FAR) for row in table.rows() if row.fact in chosen]
    path = tmp_path / "controls.jsonl"
    write_roles(path, [*controls, FactRole("Q142", "some fact", TAUGHT)])
    exported_set = export("after", held_out=0.0, known_share=0.2, controls=path)
    stated = {fact for record in lines(exported_set, "train.jsonl") for fact in record["facts"]}
    assert stated.isdisjoint(chosen)
    assert list(read_roles(exported_set.folder / "roles.jsonl"))[-len(controls) :] == controls
    assert exported_set.manifest.controls is not None
    assert exported_set.manifest.controls["facts"] == {"far": len(controls)}
    assert exported_set.manifest.left_out["it has the subject and relation of a control"] >= len(chosen)


def test_file_without_controls_is_refused(export: Export, tmp_path: Path) -> None:
    path = tmp_path / "controls.jsonl"
    for roles in ((), (FactRole("Q142", "some fact", TAUGHT),)):
        write_roles(path, roles)
        with pytest.raises(ArgumentError, match=r"`controls` is .*controls\.jsonl, which has no controls"):
            export(controls=path)


def test_table_without_slick_names_the_way_of_its_classes(example: Graph, table: LabelTable, tmp_path: Path) -> None:
    rows = [replace(row, slick=None) for row in table.rows(["unknown"])]
    plain = write_label_table(tmp_path / "plain", CONFIG, rows)
    with pytest.raises(ArgumentError, match=r"without a fact .* kgprobe label --ways …,recall\.$"):
        kgprobe.export_sft(example, plain, tmp_path / "sft", teach=["unknown"])


def test_too_few_facts_to_hold_out_are_noted(example: Graph, table: LabelTable, tmp_path: Path) -> None:
    few = write_label_table(tmp_path / "few", CONFIG, list(table.rows(["unknown"]))[:2])
    exported_set = kgprobe.export_sft(example, few, tmp_path / "sft", teach=["unknown"], held_out=1e-6)
    notes = [note for note in exported_set.notes if note.startswith("Nothing is held out")]
    assert "Nothing is held out by fact: there are 2 facts to teach: too few to hold out 1e-06 of them." in notes


def test_relation_without_templates_gets_generic_ones(graph: Graph, tmp_path: Path) -> None:
    source = WrittenSource(
        [Entity("A", "Ada"), Entity("B", "Berlin"), Entity("C", "Cleo")],
        [Fact("f1", "A", "BORN", "B"), Fact("f2", "C", "BORN", "B"), Fact("f3", "A", "OFF", "B")],
        [Relation("BORN", "place of birth"), Relation("OFF", "residence", active=False)],
    )
    load(graph, source)
    labels = write_label_table(tmp_path / "labels", CONFIG, rows_of(graph))
    exported_set = kgprobe.export_sft(
        graph, labels, tmp_path / "sft", teach=["maybe known", "weakly known"], held_out=0.0, as_of="2025"
    )
    assert exported_set.manifest.generic == ["BORN"]
    assert exported_set.manifest.left_out == {"its relation is inactive or has no question": 1}
    prompts = [record["prompt"] for record in lines(exported_set, "train.jsonl")]
    questions = ["What is the place of birth of Ada?", "What is the place of birth of Cleo?"]
    assert sorted(prompts) == [f"Question: {question}\nAnswer:" for question in questions]
    assert any("Generic templates" in note for note in exported_set.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"teach": ["recalled"]},
            r"`teach` has recalled, without a fact in labels. Classes with facts: highly known \(",
        ),
        ({"teach": ["forgotten"]}, "has no class 'forgotten'"),
        ({"refuse": ["unknown"]}, "has unknown, which is also in `teach`"),
        ({"refuse": ["weakly known"], "form": "statements"}, "needs questions"),
        ({"refusal": "pad"}, "`refusal` is pad, which needs facts to be unsure of"),
        ({"held_out": 0.0, "held_out_by": ["fact"]}, "`held_out_by` has no effect with `held_out` 0"),
        ({"teach": ["surely known", "recalled"]}, r"recalled, without .*\)\.$"),
        ({"known_share": 0.9}, r"`known_share` is 0.9, for which [\d,]+ examples"),
        ({"held_out": 1.0}, "`held_out` is 1.0"),
        ({"controls": "nowhere.jsonl"}, "cannot be read"),
    ],
)
def test_wrong_option_is_named(export: Export, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        export(**options)


def test_export_stopped_between_files_can_be_repeated(
    export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.part").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(files, "write_roles", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            export("new")
    assert not (tmp_path / "new").exists()
    first = contents(export("new").folder)
    assert contents(export("new").folder) == first
    assert sorted(path.name for path in tmp_path.glob("new*")) == ["new", "new.part"]


def test_folder_with_something_else_is_refused(export: Export, tmp_path: Path) -> None:
    exported_set = export()
    with pytest.raises(ArgumentError, match=r"another training set \(seed was 0, is 3"):
        export(seed=3)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("Dear reader")
    with pytest.raises(ArgumentError, match="exists and is not a training set"):
        export("other")
    (exported_set.folder / "manifest.json").write_text("{")
    with pytest.raises(KgprobeError, match="is damaged"):
        kgprobe.read_manifest(exported_set.folder)


def test_changed_graph_and_missing_facts_are_noted(example: Graph, table: LabelTable, tmp_path: Path) -> None:
    rows = list(table.rows(["unknown"]))
    lost = replace(rows[0], fact="lost", subject="Q0")
    stale = write_label_table(tmp_path / "stale", {**CONFIG, "graph": "another"}, [*rows, lost])
    exported_set = kgprobe.export_sft(example, stale, tmp_path / "sft", teach=["unknown"])
    assert exported_set.manifest.left_out["not in the graph"] == 1
    assert any(note.startswith("Since stale was made, the graph") for note in exported_set.notes)


def test_limit_is_a_subset_with_about_as_many_facts(export: Export) -> None:
    exported_set = export(limit=40)
    stated = sum(each.facts for each in exported_set.manifest.counts.values()) + sum(
        exported_set.manifest.left_out.values()
    )
    assert 40 <= stated < 50


@pytest.mark.parametrize("format_", ["chat", "completion"])
def test_datasets_reads_both_splits(export: Export, format_: str, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    exported_set = export(format=format_, form="both", weights="known", known_share=0.2, limit=60)
    loaded = datasets.load_dataset(str(exported_set.folder), cache_dir=str(tmp_path / "cache"))
    for split in ("train", "test"):
        assert list(loaded[split]) == lines(exported_set, f"{split}.jsonl")
    described = json.loads((exported_set.folder / "dataset_info.json").read_text())
    assert {each["file_name"] for each in described.values()} == {"train.jsonl", "test.jsonl"}
    assert set(described["kgprobe_train"]["columns"].values()) <= set(loaded["train"].column_names)


@pytest.mark.parametrize("template", [None, "{{ messages }}"])
def test_format_follows_the_chat_template_of_the_model(
    example: Graph, belgian: LabelTable, tmp_path: Path, template: str | None
) -> None:
    tokenizer = byte_level()
    tokenizer.chat_template = template
    model = tmp_path / "model"
    tokenizer.save_pretrained(model)
    (model / "config.json").write_text('{"model_type": "gpt2"}')
    table = write_label_table(tmp_path / "labels", CONFIG | {"model": f"hf:{model}"}, belgian.rows())
    exported_set = kgprobe.export_sft(example, table, tmp_path / "sft", teach=["unknown"], held_out=0.0)
    assert exported_set.manifest.options["format"] == ("completion" if template is None else "chat")
    note = "model has no chat template: lines have the format completion."
    assert (note in exported_set.notes) == (template is None)
    (model / "config.json").unlink()
    with pytest.raises(ArgumentError, match="`format` is needed, chat or completion: the chat template of hf:"):
        kgprobe.export_sft(example, table, tmp_path / "other", teach=["unknown"])


def test_axolotl_configuration_names_the_files_and_columns(export: Export) -> None:
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
    chat = yaml.safe_load((export("chat", format="chat").folder / "axolotl.yaml").read_text())
    assert [each["path"] for each in (*chat["datasets"], *chat["test_datasets"])] == ["train.jsonl", "test.jsonl"]
    exported_set = export("text", format="completion", held_out=0.0)
    (described,) = yaml.safe_load((exported_set.folder / "axolotl.yaml").read_text())["datasets"]
    assert described["type"]["format"].format(instruction="Q?") == "Q?"
    assert {described["type"]["field_instruction"], described["type"]["field_output"]} <= set(
        lines(exported_set, "train.jsonl")[0]
    )


def test_pairs_of_one_question_are_in_one_part(export: Export, table: LabelTable) -> None:
    exported_set = export(form="statements")
    ends = {row.fact: (row.subject, row.relation) for row in table.rows()}
    parts: dict[str, set[tuple[str, str]]] = {}
    for name in ("train.jsonl", "test.jsonl"):
        for record in lines(exported_set, name):
            parts.setdefault(record["purpose"], set()).update(ends[fact] for fact in record["facts"])
    assert all(part.isdisjoint(other) for part, other in combinations(parts.values(), 2))
