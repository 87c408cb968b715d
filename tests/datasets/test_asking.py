"""Measurements of data sets: every mode is stored, resumed, compared and reported, without a graph."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.datasets.folder import open_folder
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.models.model import Model
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.generation.evidence import GenerationEvidence
from tests.cli.inprocess import run
from tests.datasets.test_importing import CITIES, YEARS, publish, published_row
from tests.models.tiny import save_base

pytestmark = pytest.mark.usefixtures("home")

LAYOUT = {"examples": 2, "limit": 6}


class Said:
    """A generator with one answer to everything."""

    name = "said"

    def __init__(self, text: str) -> None:
        self._text = text

    def describe(self) -> dict[str, object]:
        return {"model": self.name}

    def answer(self, requests: Any, progress: Any = None) -> list[Answer | Unanswered]:
        if progress is not None:
            progress(len(requests))
        return [Answer(self._text) for _ in requests]


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "tiny"
    save_base(folder, max_position_embeddings=512)
    return folder


@pytest.fixture(scope="module")
def tiny(tiny_folder: Path) -> Model:
    return kgprobe.load_model(f"hf:{tiny_folder}")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set of two relations, one of which has written and mined sentences."""
    folder = tmp_path_factory.mktemp("dataset")
    rows = [published_row(50, "capital", *pair, list(CITIES.values())) for pair in CITIES.items()]
    rows += [published_row(3, "birth year", *pair, list(YEARS.values())) for pair in YEARS.items()]
    templates = folder / "templates.jsonl"
    clozes = ["The capital of [X] is [Y]", "The seat of government of [X] is [Y]"]
    templates.write_text(json.dumps({"id": "50", "clozes": clozes, "mined_clozes": ["[X] embassy in [Y]"]}))
    kgprobe.import_dataset(publish(folder / "published", rows[::2], rows[1::2]), folder / "mc", templates=templates)
    return folder / "mc"


def test_examples_prompt_and_choices_are_those_of_the_files(dataset: Path, tiny: Model) -> None:
    result = kgprobe.probe_dataset(dataset, tiny, **LAYOUT)
    train = {row.subject: row.object for _, row in open_folder(dataset).rows("train")}
    rows = {row.fact_id: row for _, row in open_folder(dataset).rows("test")}
    assert {outcome.fact.fact for outcome in result.outcomes} == set(rows)
    scorer = tiny.scorer()
    for outcome in result.outcomes:
        row, evidence = rows[outcome.fact.fact], outcome.evidence
        assert isinstance(evidence, ExampleEvidence)
        shown = outcome.prompt.removesuffix(f" {row.subject}")
        pairs = [f"{subject} {object_}" for subject, object_ in train.items()]
        assert any(shown in (f"{one} {other}", one) for one in pairs for other in pairs)
        (scored,) = scorer.score([outcome.prompt], [[row.object, *(o.label for o in evidence.others)]])
        assert evidence.log_probabilities == pytest.approx(scored.values, abs=1e-4)
        assert (outcome.verdict.value == "right") == (int(np.argmax(scored.values)) == 0)


def test_same_call_resumes_and_other_files_are_asked_anew(dataset: Path, tiny: Model) -> None:
    first = kgprobe.probe_dataset(dataset, tiny, **LAYOUT)
    size = first.outcomes.path.stat().st_size
    again = kgprobe.probe_dataset(dataset, tiny, **LAYOUT)
    assert (again.folder, again.outcomes.path.stat().st_size) == (first.folder, size)
    assert kgprobe.probe_dataset(dataset, tiny, **LAYOUT, seed=1).folder != first.folder
    path = dataset / "data" / "train.parquet"
    before = path.read_bytes()
    try:
        path.write_bytes((dataset / "data" / "test.parquet").read_bytes())
        assert kgprobe.probe_dataset(dataset, tiny, **LAYOUT).folder != first.folder
    finally:
        path.write_bytes(before)


MODES: dict[str, dict[str, Any]] = {
    "packed": {"packed": True},
    "separate": {"packed": True, "separate_tokens": True},
    "sentences": {"prompt": "sentences"},
    "both": {"prompt": "both", "template": 2},
    "mined": {"prompt": "sentences", "clozes": "mined"},
    "generation": {"probe": "generation", "new_tokens": 3},
    "generated sentences": {"probe": "generation", "prompt": "sentences", "new_tokens": 3},
}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_asks_all_facts_that_have_a_prompt(dataset: Path, tiny: Model, mode: str) -> None:
    options = {"templates" if name == "clozes" else name: value for name, value in MODES[mode].items()}
    result = kgprobe.probe_dataset(dataset, tiny, **LAYOUT, **options)
    outcomes = list(result.outcomes)
    kind = GenerationEvidence if "generat" in mode else ExampleEvidence
    answered = [outcome for outcome in outcomes if isinstance(outcome.evidence, kind) and outcome.verdict.counts]
    # A relation without a second or a mined sentence cannot be asked in it.
    relations = {"both": {"50"}, "mined": {"50"}}.get(mode, {"50", "3"})
    assert {outcome.relation for outcome in answered} == relations
    assert all(outcome.reason for outcome in outcomes if outcome not in answered)
    prompts = {outcome.fact.subject: outcome.prompt for outcome in answered}
    if mode == "mined":
        assert prompts["Japan"] == "Japan embassy in"
    if mode == "both":
        assert prompts["Japan"].endswith("The seat of government of Japan is")
    assert result.finding().overall.facts == len(answered)


def test_generated_text_that_names_the_object_is_right(dataset: Path) -> None:
    model = Model("said", generator=Said("It is Tokyo, not Paris."))
    result = kgprobe.probe_dataset(dataset, model, "generation", examples=2)
    right = {outcome.fact.subject for outcome in result.outcomes if outcome.verdict.value == "right"}
    assert right == {"Japan"}


def test_compare_and_report_take_results_of_data_sets(dataset: Path, tiny_folder: Path, home: Path) -> None:
    environment = {"KGPROBE_HOME": str(home)}
    for name, options in (("plain", ()), ("eic", ("--packed", "--separate-tokens"))):
        arguments = ("--model", f"hf:{tiny_folder}", "--examples", "2", "--name", name, *options, "--json")
        asked = run("dataset", "probe", str(dataset), *arguments, **environment)
        assert asked.returncode == 0, asked.stderr
        shown = json.loads(asked.stdout)
        assert shown["relations"] == {"3": "birth year", "50": "capital"}
        assert Path(shown["page"]).is_file()
    compared = run("compare", "plain", "eic", "--json", **environment)
    assert compared.returncode == 0, compared.stderr
    content = json.loads(compared.stdout)
    assert content["facts"] == 5
    assert {relation["name"] for relation in content["relations"]} == {"capital", "birth year"}
    reported = run("report", "plain", "eic", "--json", **environment)
    assert reported.returncode == 0, reported.stderr
    facts = json.loads(reported.stdout)["facts"]
    assert {fact["object_label"] for fact in facts} >= {"Tokyo"}
    assert len(facts) == 10


def accuracy(folder: str, relation: str) -> list[bool]:
    """Return the verdicts of a measurement about a relation."""
    outcomes = kgprobe.open(folder).outcomes
    return [outcome.verdict.value == "right" for outcome in outcomes if outcome.relation == relation and outcome.prompt]


def test_study_of_a_data_set_asks_the_sentences_of_its_file(dataset: Path, tiny: Model) -> None:
    options = {"examples": 2, "separators": [], "ways": ["packed", "in-sentences", "sentences"]}
    result = kgprobe.study_prompting(
        None, tiny, dataset=dataset, clozes=["hand", "mined"], sentences=1, separate_tokens=True, **options
    )
    measurements = result.config["measurements"]
    sentences = ["hand-written sentence 1", "mined sentence 1"]
    ways = ["examples", "packed", *(f"examples in {title}" for title in sentences), *sentences]
    assert list(measurements) == [row.way for row in result.table] == ways
    prompts = {
        way: {outcome.fact.subject: outcome.prompt for outcome in kgprobe.open(folder).outcomes}
        for way, folder in measurements.items()
    }
    assert prompts["mined sentence 1"]["Japan"] == "Japan embassy in"
    assert prompts["hand-written sentence 1"]["Japan"] == "The capital of Japan is"
    # The sentence replaces the separator only.
    pairs = {row.subject: row.object for _, row in open_folder(dataset).rows("train")}
    shown = prompts["examples in mined sentence 1"]["Japan"].removesuffix(" Japan embassy in")
    assert shown in {f"{a} embassy in {pairs[a]} {b} embassy in {pairs[b]}" for a in pairs for b in pairs if a != b}
    described = kgprobe.open(measurements["packed"]).config["described"]
    assert (described["packed"], described["separate_tokens"]) == (True, True)
    # The birth years have no sentences.
    assert result.missing == ["Left out: 1 relation without cloze sentences (hand and mined)."]
    assert {row.relation for row in result.relations} == {"capital"}
    way_of = {f"{way[:-2]}s" if way[-1] == "1" else way: way for way in ways}
    for row in result.relations:
        right = accuracy(measurements[way_of[row.method]], "50")
        assert (row.facts, row.mean, row.deviation) == (len(right), np.mean(right), None)


def test_methods_are_means_over_relations_and_sentences(dataset: Path, tiny: Model) -> None:
    options = {"examples": 2, "separators": []}
    alone = kgprobe.study_prompting(
        None, tiny, dataset=dataset, relations=["Capital"], ways=["sentences"], sentences=2, **options
    )
    by_sentence = [np.mean(accuracy(alone.config["measurements"][f"hand-written sentence {n}"], "50")) for n in (1, 2)]
    (own,) = [row for row in alone.methods if row.method == "hand-written sentences"]
    assert (own.sentences, own.relations, own.mean) == (2, 1, np.mean(by_sentence))
    assert own.deviation == pytest.approx(np.std(by_sentence, ddof=1))
    (each,) = [row for row in alone.relations if row.method == "hand-written sentences"]
    assert (each.sentences, each.mean, each.deviation) == (2, own.mean, own.deviation)
    both = kgprobe.study_prompting(None, tiny, dataset=dataset, ways=["packed"], **options)
    for row in both.methods:
        values = [np.mean(accuracy(both.config["measurements"][row.method], relation)) for relation in ("3", "50")]
        assert (row.relations, row.mean) == (2, pytest.approx(np.mean(values)))
        assert row.deviation == pytest.approx(np.std(values, ddof=1))
    assert [list(plot.rows) for plot in both.plots[2:]] == [["birth year", "capital"]]
    # The tables of the paper have these numbers.
    both.page()
    mine = {own.column: own.value for own in kgprobe.paper("latent-knowledge", "figure-3").own if own.row == "packed"}
    (packed,) = [row for row in both.methods if row.method == "packed"]
    assert mine == {"mean accuracy": round(packed.mean, 3), "standard deviation": round(packed.deviation, 3)}
    by_relation = {(own.row, own.column): own.value for own in kgprobe.paper("latent-knowledge", "figure-12").own}
    assert by_relation == {(row.relation, row.method): round(row.mean, 3) for row in both.relations} | by_relation
    ways = {own.row: own.value for own in kgprobe.paper("latent-knowledge", "figure-4").own}
    assert ways["packed"] == round(both.table[-1].accuracy.value, 3)
    # With facts, and the intervals of proportions.
    for table in ("figure-3", "figure-4", "figure-12"):
        numbers = kgprobe.paper("latent-knowledge", table).own
        assert all(own.facts for own in numbers)
        assert all((own.low is not None) == (table == "figure-4") for own in numbers)
    every = {own.facts for own in kgprobe.paper("latent-knowledge", "figure-3").own if own.row == "packed"}
    assert max(every) == sum(row.facts for row in both.relations if row.method == "packed")


def test_study_names_relations_with_fewer_sentences(tmp_path: Path, dataset: Path, tiny: Model) -> None:
    templates = tmp_path / "templates.jsonl"
    clozes = {"50": ["The capital of [X] is [Y]", "The seat of [X] is [Y]"], "3": ["[X] was born in [Y]"]}
    templates.write_text("\n".join(json.dumps({"id": each, "clozes": own}) for each, own in clozes.items()))
    kgprobe.import_dataset(dataset.parent / "published", tmp_path / "mc", templates=templates)
    options: dict[str, Any] = {"examples": 2, "separators": [], "ways": ["sentences"]}
    result = kgprobe.study_prompting(None, tiny, dataset=tmp_path / "mc", sentences=2, **options)
    assert result.missing == [
        "Relations with fewer than 2 sentences of a kind are not compared over facts: birth year (1)."
    ]
    assert {row.fact for row in result.data} <= {
        outcome.fact.fact
        for outcome in kgprobe.open(result.config["measurements"]["examples"]).outcomes
        if outcome.relation == "50"
    }
    assert {row.relation for row in result.relations} == {"birth year", "capital"}
    enough = kgprobe.study_prompting(None, tiny, dataset=tmp_path / "mc", sentences=1, **options)
    assert enough.missing == []


def test_study_of_a_data_set_refuses_what_it_lacks(dataset: Path, home: Path) -> None:
    model = Model("unread")
    with pytest.raises(
        ArgumentError, match=r"`sentences` is 2; a relation has at most 1 of each kind \(hand and mined"
    ):
        kgprobe.study_prompting(None, model, dataset=dataset, clozes=["hand", "mined"], sentences=2)
    with pytest.raises(KgprobeError, match=r"No relation has cloze sentences \(mined\).*dataset build --templates"):
        kgprobe.study_prompting(None, model, dataset=dataset, clozes=["mined"], relations=["birth year"])
    with pytest.raises(ArgumentError, match="`choices` has no effect with `dataset`"):
        kgprobe.study_prompting(None, model, dataset=dataset, choices=3)
    with pytest.raises(ArgumentError, match="`graph` is None; expected a graph, or a data set"):
        kgprobe.study_prompting(None, model)
    with pytest.raises(UnknownNameError, match=r"There is no relation 'capitol' in .* \(did you mean capital"):
        kgprobe.probe_dataset(dataset, model, relations=["capitol"])
    given = ("study", "prompting", "--dataset", str(dataset), "--model", "demo")
    refused = run(*given, "--balance", "degree", KGPROBE_HOME=str(home))
    assert (refused.returncode, "--balance has no effect with --dataset" in refused.stderr) == (2, True), refused.stderr


def test_relations_of_a_data_set_are_asked_alone(dataset: Path, tiny_folder: Path, home: Path) -> None:
    given = ("--model", f"hf:{tiny_folder}", "--examples", "2", "--relation", "CAPITAL", "--json")
    environment = {"KGPROBE_HOME": str(home)}
    asked = run("dataset", "probe", str(dataset), *given, **environment)
    assert json.loads(asked.stdout)["relations"] == {"50": "capital"}, asked.stderr
    study = run("study", "prompting", "--dataset", str(dataset), "--way", "packed", *given, **environment)
    assert study.returncode == 0, study.stderr
    content = json.loads(study.stdout)
    assert [row["method"] for row in content["methods"]] == ["examples", "examples, ': '", "examples, ' = '", "packed"]
    assert content["config"]["dataset"] == str(dataset)


def test_options_that_do_not_fit_are_refused(dataset: Path, tiny: Model, home: Path) -> None:
    with pytest.raises(ArgumentError, match="`choices` is not an option"):
        kgprobe.probe_dataset(dataset, tiny, choices=3)
    with pytest.raises(ArgumentError, match="`probe` is 'questions'; expected one of examples, generation"):
        kgprobe.probe_dataset(dataset, tiny, "questions")
    with pytest.raises(ArgumentError, match="`packed` requires the prompt examples"):
        kgprobe.probe_dataset(dataset, tiny, packed=True, prompt="both")
    done = run("dataset", "probe", str(dataset), "--model", "demo", "--new-tokens", "3", KGPROBE_HOME=str(home))
    assert (done.returncode, "--new-tokens is an option of --probe generation" in done.stderr) == (2, True)
