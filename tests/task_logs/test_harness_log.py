"""Logs of lm-evaluation-harness: written by it, and damaged ones."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.task_logs.opening import is_task_log, open_task_log
from kgprobe.task_logs.paired_tasks import pair_logs
from tests.task_logs.written import write_harness_logs, write_lines

KINDS = ("endings", "word", "written", "document")


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder with the logs of a model, and what lm-evaluation-harness reports."""
    pytest.importorskip("lm_eval")
    folder = tmp_path_factory.mktemp("harness")
    return folder / "base", write_harness_logs(folder, {"base": 0}, KINDS)["base"]


def test_harness_log_means_equal_its_results(logs: tuple[Path, Any]) -> None:
    folder, results = logs
    log = open_task_log(folder)
    assert set(log.tasks) == {f"own_{kind}" for kind in KINDS}
    for task, metric in (("endings", "acc"), ("endings", "acc_norm"), ("word", "acc"), ("written", "exact_match")):
        assert log.tasks[f"own_{task}"].mean(metric) == results[f"own_{task}"][f"{metric},none"]
    assert 0 < log.tasks["own_endings"].mean("acc") < 1
    assert log.tasks["own_endings"].reported["acc"] == log.tasks["own_endings"].mean("acc")
    assert log.tasks["own_document"].left_out == ("word_perplexity", "bits_per_byte")
    assert log.tasks["own_word"].left_out == ("perplexity",)
    document = log.tasks["own_written"].documents
    first = next(iter(document.values()))
    assert (first.id, first.question) == ("0", "City 0 is")
    assert "exact_match" in first.answers


def test_harness_log_cut_in_a_line_is_unfinished(logs: tuple[Path, Any], tmp_path: Path) -> None:
    (whole,) = logs[0].rglob("samples_own_endings_*.jsonl")
    (results,) = logs[0].rglob("results_*.json")
    cut = tmp_path / whole.name
    cut.write_bytes(whole.read_bytes()[:-20])
    with pytest.raises(KgprobeError, match="line 60 is not a JSON object: the log is unfinished"):
        open_task_log(cut)
    (tmp_path / results.name).write_bytes(results.read_bytes())
    cut.write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:50]))
    with pytest.raises(KgprobeError, match="has 50 of 60 documents"):
        open_task_log(tmp_path)


def test_harness_log_newest_of_a_task_counts(tmp_path: Path) -> None:
    write_lines(tmp_path / "samples_a_b_2026-01-02T03-04-05.000001.jsonl", [1, 1])
    write_lines(tmp_path / "samples_a_b_2026-01-03T03-04-05.000001.jsonl", [0, 0])
    log = open_task_log(tmp_path)
    assert log.tasks["a_b"].mean("acc") == 0
    assert log.notes == [f"{tmp_path}: 1 older logs of the same tasks are not read."]


def test_harness_log_renamed_files_are_tasks_of_their_names(tmp_path: Path) -> None:
    write_lines(tmp_path / "samples_arc.jsonl", [1, 1])
    write_lines(tmp_path / "samples_mmlu.jsonl", [0, 1])
    log = open_task_log(tmp_path)
    assert {name: task.mean("acc") for name, task in log.tasks.items()} == {"arc": 1.0, "mmlu": 0.5}
    assert log.notes == []


def test_harness_log_without_a_time_is_not_ordered(tmp_path: Path) -> None:
    write_lines(tmp_path / "samples_arc.jsonl", [1, 1])
    write_lines(tmp_path / "samples_arc_2026-01-02T03-04-05.000001.jsonl", [0, 0])
    with pytest.raises(KgprobeError, match=r"samples_arc\.jsonl and .*samples_arc_2026.* are both logs of arc"):
        open_task_log(tmp_path)


def test_harness_log_null_and_nan_are_missing_values(tmp_path: Path) -> None:
    time = "2026-01-02T03-04-05.000001"
    path = write_lines(tmp_path / f"samples_t_{time}.jsonl", [1, 0, math.nan, 1])
    path.write_text(path.read_text().replace('"acc": 0', '"acc": null'))
    (tmp_path / f"results_{time}.json").write_text('{"results": {"t": {"acc,none": NaN}}, "model_name": "m"}')
    log = open_task_log(tmp_path)
    assert (log.model, log.tasks["t"].left_out, log.tasks["t"].reported) == ("m", (), {})
    assert [document.values for document in log.tasks["t"].documents.values()] == [{"acc": 1}, {}, {}, {"acc": 1}]


def test_pair_logs_keeps_documents_with_two_values(tmp_path: Path) -> None:
    for name, values in (("a", [1, 0, math.nan, 1]), ("b", [math.nan, 1, 1, 0])):
        write_lines(tmp_path / f"{name}.jsonl", values)
    paired = pair_logs(open_task_log(tmp_path / "a.jsonl"), open_task_log(tmp_path / "b.jsonl"), (), "results")
    (metric,) = paired.metrics
    assert (metric.first.tolist(), metric.second.tolist()) == ([0, 1], [1, 0])
    assert paired.notes == ["samples, acc: 2 of 4 documents have no value in one of the logs."]


def test_harness_log_filters_are_metrics_of_one_document(tmp_path: Path) -> None:
    strict = write_lines(tmp_path / "strict", [1, 0], metric="exact_match", filter="strict-match")
    loose = write_lines(tmp_path / "loose", [1, 1], metric="exact_match", filter="flexible-extract")
    both = tmp_path / "samples_gsm8k_2026-01-02T03-04-05.000001.jsonl"
    both.write_text(strict.read_text() + loose.read_text())
    task = open_task_log(both).tasks["gsm8k"]
    assert len(task.documents) == 2
    assert [task.mean(metric) for metric in task.metrics] == [0.5, 1.0]
    assert task.metrics == ["exact_match,strict-match", "exact_match,flexible-extract"]


def test_harness_log_equal_documents_are_numbered(tmp_path: Path) -> None:
    log = write_lines(tmp_path / "log.jsonl", [1, 0, 1], doc_hash="same")
    assert list(open_task_log(log).tasks["samples"].documents) == ["same 0", "same 1", "same 2"]


def test_harness_log_lower_is_better_is_left_out(tmp_path: Path) -> None:
    write_lines(tmp_path / "samples_t_2026-01-02T03-04-05.000001.jsonl", [0.5], metric="brier_score")
    results = {"results": {}, "n-samples": {}, "higher_is_better": {"t": {"brier_score": False}}, "model_name": "m"}
    (tmp_path / "results_2026-01-02T03-04-05.000001.json").write_text(json.dumps(results))
    log = open_task_log(tmp_path)
    assert (log.model, log.tasks["t"].left_out, log.tasks["t"].metrics) == ("m", ("brier_score",), [])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("twice", "line 3: document 0 has a second value of acc. Give the log of one run."),
        ('"doc_hash": -> "hash":', "line 1 is not of lm-evaluation-harness's samples_.*missing .* field `doc_hash`"),
        ('["acc"] -> null', "line 1 is not of .*: Expected `array`, got `null` - at `\\$.metrics`"),
        ('["acc"] -> [["acc"]]', "line 1 is not of .*: Expected `str`, got `array`"),
        ('"doc_id": 0 -> "doc_id": [0]', "line 1 is not of .*: Expected `int`, got `array`"),
        ("two models", "has logs in several folders, one for each model: a, b. Give one of them."),
        ("results alone", "has results of lm-evaluation-harness without documents. Run it with --log_samples"),
        ("both tools", "has logs of lm-evaluation-harness and of Inspect"),
    ],
)
def test_harness_log_with_a_fault_is_refused(tmp_path: Path, fault: str, said: str) -> None:
    path = write_lines(tmp_path / "a" / "samples_t_2026-01-02T03-04-05.000001.jsonl", [1, 0])
    if fault == "twice":
        path.write_text(path.read_text() * 2)
    elif "->" in fault:
        path.write_text(path.read_text().replace(*fault.split(" -> ")))
    elif fault == "two models":
        write_lines(tmp_path / "b" / path.name, [1, 0])
    elif fault == "results alone":
        path.rename(path.with_name("results_2026-01-02T03-04-05.000001.json"))
    else:
        (tmp_path / "x.eval").write_bytes(b"")
    with pytest.raises(KgprobeError, match=said):
        open_task_log(tmp_path)


def test_harness_log_shows_question_and_answer_of_a_choice(tmp_path: Path) -> None:
    prompt = "Question: One?\nAnswer: a\n\nQuestion: Two?\nAnswer:"
    choices = {f"gen_args_{number}": {"arg_0": prompt, "arg_1": f" choice {number}"} for number in range(3)}
    path = write_lines(tmp_path / "samples_t.jsonl", [1], arguments=choices, target="2")
    (document,) = open_task_log(path).tasks["t"].documents.values()
    assert (document.question, document.right_answer) == ("Question: Two? Answer:", "choice 2")
    path = write_lines(tmp_path / "samples_t.jsonl", [1], target="2")
    (document,) = open_task_log(path).tasks["t"].documents.values()
    assert (document.question, document.right_answer) == ("Question 0", "2")


def test_is_task_log_other_folders_are_none(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert not is_task_log(tmp_path)
    assert not is_task_log(tmp_path / "nothing")
    assert is_task_log(write_lines(tmp_path / "x.jsonl", [1]))
