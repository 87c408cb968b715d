"""Measurements are exported to a model's page and in the schema of Every Eval Ever."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from kgprobe.stats.proportions import share
from tests.cli.inprocess import run

NAME = "published"
ID = "maker/small"


@pytest.fixture(scope="module")
def outcomes(home: dict[str, str], model: str) -> list[dict[str, Any]]:
    """The stored answers of a measurement of 12 facts."""
    asked = ("distractors", "--model", model, "--limit", "12", "--distractors", "3", "--sentences", "1")
    done = run("probe", *asked, "--name", NAME, **home)
    assert done.returncode == 0, done.stderr
    lines = Path(home["KGPROBE_HOME"], "probes", NAME, "outcomes.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_result_of_a_model_page_has_the_share_in_percent_and_its_interval(
    outcomes: list[dict[str, Any]], home: dict[str, str], tmp_path: Path
) -> None:
    options = ("--dataset", "me/capitals", "--source", "https://example.org/page", "--model-id", ID)
    done = run("export", "eval-results", NAME, "-o", str(tmp_path), *options, **home)
    assert done.returncode == 0, done.stderr
    (entry,) = parse_eval_result_entries(
        yaml.safe_load((tmp_path / ".eval_results" / "capitals-distractors.yaml").read_text())
    )
    right = sum(outcome["verdict"] == "right" for outcome in outcomes)
    answered = sum(outcome["verdict"] in ("right", "wrong") for outcome in outcomes)
    rate = share(right, answered)
    assert (entry.dataset_id, entry.task_id, entry.source_url) == (
        *("me/capitals", "distractors"),
        "https://example.org/page",
    )
    assert entry.value == pytest.approx(100 * rate.value, abs=0.005)
    assert entry.notes is not None
    assert f"{answered} facts; 95% interval {rate.low:.1%} to {rate.high:.1%}" in entry.notes


def test_record_of_every_eval_ever_has_all_shares_and_answers(
    outcomes: list[dict[str, Any]], home: dict[str, str], tmp_path: Path
) -> None:
    command = ("export", "every-eval-ever", NAME, "-o", str(tmp_path), "--organization", "Us", "--model-id", ID)
    done = run(*command, **home)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("data/kgprobe-distractors/maker/small/*.json")
    record = json.loads(path.read_text())
    answered = [outcome for outcome in outcomes if outcome["verdict"] in ("right", "wrong")]
    facts = Counter(outcome["relation"] for outcome in answered)
    right = Counter(outcome["relation"] for outcome in answered if outcome["verdict"] == "right")
    scores = {
        result["evaluation_result_id"]: (
            result["score_details"]["score"],
            result["score_details"]["uncertainty"]["num_samples"],
        )
        for result in record["evaluation_results"]
    }
    expected = {f"accuracy/{relation}": (right[relation] / count, count) for relation, count in facts.items()}
    assert scores == {"accuracy": (right.total() / len(answered), len(answered)), **expected}
    detailed = record["detailed_evaluation_results"]
    content = (tmp_path / detailed["file_path"]).read_bytes()
    assert (hashlib.sha256(content).hexdigest(), detailed["total_rows"]) == (detailed["checksum"], len(answered))
    lines = [json.loads(line) for line in content.splitlines()]
    assert [(line["sample_id"], line["evaluation"]["is_correct"], line["input"]["formatted"]) for line in lines] == [
        (outcome["fact"], outcome["verdict"] == "right", outcome["prompt"]) for outcome in answered
    ]
    # A wrong answer names another object than the right one, a right answer names it.
    for line in lines:
        assert (line["output"]["raw"] == line["input"]["reference"]) == line["evaluation"]["is_correct"]
        assert set(line["output"]["raw"]) <= set(line["input"]["choices"])
    # Neither the model's folder nor the user's name for it is published.
    assert str(home["KGPROBE_HOME"]) not in path.read_text()
    # Written again, it has the same files with the same bytes.
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert run(*command, **home).returncode == 0
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


@pytest.mark.usefixtures("outcomes")
def test_record_is_valid_by_the_published_schemas(home: dict[str, str], tmp_path: Path) -> None:
    schema = pytest.importorskip("every_eval_ever.schema", reason="every-eval-ever needs Python 3.12")
    import jsonschema

    command = ("export", "every-eval-ever", NAME, "-o", str(tmp_path), "--organization", "Us", "--model-id", ID)
    assert run(*command, **home).returncode == 0
    (record,) = tmp_path.rglob("*.json")
    jsonschema.validate(json.loads(record.read_text()), schema.schema_json())
    (answers,) = tmp_path.rglob("*_samples.jsonl")
    instances = schema.schema_json("instance_level_eval.schema.json")
    for line in answers.read_text().splitlines():
        jsonschema.validate(json.loads(line), instances)


@pytest.mark.usefixtures("outcomes")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eval-results", NAME, "--dataset", "me/capitals"), "--model-id is missing"),
        (("eval-results", NAME, "--dataset", "capitals", "--model-id", ID), "--dataset is 'capitals'"),
        (
            ("eval-results", NAME, "--dataset", "me/capitals", "--model-id", ID, "--source", "page"),
            "--source is 'page'; expected a URL",
        ),
        (("every-eval-ever", NAME, "--organization", "Us", "--model-id", "small"), "--model-id is 'small'"),
        (("every-eval-ever", NAME, "--organization", " ", "--model-id", ID), "--organization is empty"),
        (
            ("every-eval-ever", "begun", "--organization", "Us", "--model-id", ID),
            "There is a run of this name, but this takes measurements only.",
        ),
        (("every-eval-ever", "absent", "--organization", "Us", "--model-id", ID), "No measurement absent"),
        (
            ("every-eval-ever", NAME, "--organization", "Us", "--model-id", ID, "--benchmark", "../up"),
            "--benchmark is '../up'",
        ),
    ],
)
def test_wrong_use_is_explained(arguments: tuple[str, ...], message: str, home: dict[str, str], tmp_path: Path) -> None:
    (Path(home["KGPROBE_HOME"]) / "runs" / "begun-0a1b2c3d").mkdir(parents=True, exist_ok=True)
    done = run("export", *arguments, "-o", str(tmp_path / "out"), **home)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()
