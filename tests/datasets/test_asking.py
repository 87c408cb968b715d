"""Measurements of data sets: every mode is stored, resumed, compared and reported, without a graph."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
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


def test_options_that_do_not_fit_are_refused(dataset: Path, tiny: Model, home: Path) -> None:
    with pytest.raises(ArgumentError, match="`choices` is not an option"):
        kgprobe.probe_dataset(dataset, tiny, choices=3)
    with pytest.raises(ArgumentError, match="`probe` is 'questions'; expected one of examples, generation"):
        kgprobe.probe_dataset(dataset, tiny, "questions")
    with pytest.raises(ArgumentError, match="`packed` requires the prompt examples"):
        kgprobe.probe_dataset(dataset, tiny, packed=True, prompt="both")
    done = run("dataset", "probe", str(dataset), "--model", "demo", "--new-tokens", "3", KGPROBE_HOME=str(home))
    assert (done.returncode, "--new-tokens is an option of --probe generation" in done.stderr) == (2, True)
