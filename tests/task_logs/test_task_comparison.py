"""Comparison of logs: tests and intervals against other ways to get them, verdicts, and logs that do not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.stats.paired_proportions import family_bounds, loss_bounds, loss_interval
from tests.task_logs.written import write_harness_logs, write_lines


def pair(folder: Path, first: list[float], second: list[float], **changes: Any) -> tuple[Path, Path]:
    """Return two logs of one task with these values."""
    name = "samples_t_2026-01-02T03-04-05.000001.jsonl"
    return write_lines(folder / "a" / name, first, **changes), write_lines(folder / "b" / name, second, **changes)


def test_compare_logs_equals_harness_and_mcnemar(tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    results = write_harness_logs(tmp_path, {"base": 0, "tuned": 1}, ["endings", "written"])
    compared = kgprobe.compare([tmp_path / "base", tmp_path / "tuned"])
    rows = {(row.task, row.metric): row for row in compared.differences}
    assert set(rows) == {("own_endings", "acc"), ("own_endings", "acc_norm"), ("own_written", "exact_match")}
    for (task, metric), row in rows.items():
        assert row.first.value == results["base"][task][f"{metric},none"]
        assert row.second.value == results["tuned"][task][f"{metric},none"]
    row = rows["own_endings", "acc_norm"]
    assert row.lost is not None
    assert row.gained is not None
    assert row.lost + row.gained >= 3
    # McNemar's exact test is the binomial test of the discordant documents.
    assert row.p == pytest.approx(stats.binomtest(row.lost, row.lost + row.gained).pvalue, rel=1e-12)
    low, high = loss_interval(row.lost, row.gained, 60)
    assert (row.difference.low, row.difference.high) == pytest.approx((-float(high), -float(low)))
    assert row.difference.value == pytest.approx(row.second.value - row.first.value)
    tools = pytest.importorskip("statsmodels.stats.contingency_tables")
    both = 60 * row.first.value - row.lost
    table = [[both, row.lost], [row.gained, 60 - both - row.lost - row.gained]]
    assert row.p == pytest.approx(tools.mcnemar(table, exact=True).pvalue, rel=1e-12)


def test_compare_logs_values_between_are_not_tested(tmp_path: Path) -> None:
    logs = pair(tmp_path, [0.2, 0.4, 1.0] * 20, [0.1, 0.4, 1.0] * 20, metric="f1")
    (row,) = kgprobe.compare(logs).differences
    assert (row.lost, row.p, row.detectable) == (None, None, None)
    assert row.difference.value == pytest.approx(-1 / 30)
    assert row.difference.low is not None
    assert row.difference.low < row.difference.value < (row.difference.high or 0)
    with pytest.raises(KgprobeError, match="so that no loss can be tested: t, f1"):
        kgprobe.check(*logs)


@pytest.mark.parametrize(("lost", "verdict"), [(0, "kept"), (30, "undecided"), (120, "lost")])
def test_check_logs_verdict_follows_the_bounds(tmp_path: Path, lost: int, verdict: str) -> None:
    logs = pair(tmp_path, [1.0] * 1000, [0.0] * lost + [1.0] * (1000 - lost))
    found = kgprobe.check(*logs, margin=0.03)
    assert found.verdict.value == verdict
    (row,) = found.losses
    assert (row.loss.low, row.loss.high) == pytest.approx(tuple(map(float, loss_bounds(lost, 0, 1000))))
    assert [check.verdict for check in found.checks()] == [verdict]
    assert found.checks()[0].name == "t, acc"
    assert len([changed for changed in found.changed_documents if changed.change == "lost"]) == lost
    assert found.to_dict()["verdict"] == verdict
    assert found.summary().startswith(verdict.capitalize())


def test_check_logs_lower_bound_is_corrected_for_rows(tmp_path: Path) -> None:
    # A loss that is just significant alone is not if it is the largest of twenty.
    rng = np.random.default_rng(0)
    lost = next(count for count in range(20, 100) if loss_bounds(count, 0, 1000)[0] > 0.02)
    for number in range(20):
        first = rng.integers(0, 2, 1000).astype(float).tolist()
        name = f"samples_t{number}_2026-01-02T03-04-05.000001.jsonl"
        write_lines(tmp_path / "a" / name, [1.0] * 1000 if number == 0 else first)
        write_lines(tmp_path / "b" / name, [0.0] * lost + [1.0] * (1000 - lost) if number == 0 else first)
    found = kgprobe.check(tmp_path / "a", tmp_path / "b", margin=0.02)
    assert found.verdict.value == "undecided"
    single = "samples_t0_2026-01-02T03-04-05.000001.jsonl"
    assert kgprobe.check(tmp_path / "a" / single, tmp_path / "b" / single, margin=0.02).verdict.value == "lost"
    low = [row.loss.low for row in found.losses]
    expected = family_bounds(lost, 0, 1000, 20)[0]
    assert low[0] == pytest.approx(float(expected))


def test_corrected_bounds_together_err_in_five_percent() -> None:
    # Ten tasks at the margin: the share of simulations in which any of them is called lost.
    rng = np.random.default_rng(1)
    margin, total = 0.02, 500
    drawn = rng.multinomial(total, [0.06, 0.04, 0.9], size=(1000, 10))
    low, _ = family_bounds(drawn[..., 0], drawn[..., 1], np.full((1000, 10), total), 10)
    assert (low > margin).any(axis=1).mean() <= 0.06


def test_compare_logs_of_other_tasks_names_them(tmp_path: Path) -> None:
    first = write_lines(tmp_path / "a" / "samples_arc_2026-01-02T03-04-05.000001.jsonl", [1.0])
    second = write_lines(tmp_path / "b" / "samples_mmlu_2026-01-02T03-04-05.000001.jsonl", [1.0])
    with pytest.raises(KgprobeError, match=r"no task is common\. .* has arc; .* has mmlu\."):
        kgprobe.compare([first, second])


def test_compare_logs_without_common_documents_counts_them(tmp_path: Path) -> None:
    first, second = pair(tmp_path, [1.0] * 4, [1.0] * 5)
    second.write_text(second.read_text().replace("hash ", "other "))
    with pytest.raises(KgprobeError, match="none of the 4 and 5 documents of t is common"):
        kgprobe.compare([first, second])


def test_compare_logs_uses_and_counts_common_documents(tmp_path: Path) -> None:
    first, second = pair(tmp_path, [1.0, 0.0, 1.0, 1.0], [0.0, 0.0])
    second.write_text(second.read_text().replace("prompt 1", "other prompt"))
    compared = kgprobe.compare([first, second])
    (row,) = compared.differences
    assert (row.documents, row.lost, row.gained, row.first.value) == (2, 1, 0, 0.5)
    assert compared.notes == (
        "2 of 4 and 2 documents of t are common; only these are compared.",
        "t: 1 document with different prompts, such as other few-shot examples or chat templates.",
    )


def test_compare_logs_unknown_metric_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="`metrics` bleu is in no common task; the logs have acc"):
        kgprobe.compare(pair(tmp_path, [1.0], [1.0]), metrics=["bleu"])


def test_compare_logs_reported_mean_that_differs_is_noted(tmp_path: Path) -> None:
    logs = pair(tmp_path, [1.0, 0.0], [1.0, 1.0])
    results = '{"results": {"t": {"acc,none": 0.75}}, "n-samples": {}, "model_name": "m"}'
    logs[0].with_name("results_2026-01-02T03-04-05.000001.json").write_text(results)
    (note,) = kgprobe.compare(logs).notes
    assert note.endswith("acc of t is reported as 0.7500; its mean over documents is 0.5000.")


def test_compare_logs_without_accuracies_names_the_metrics(tmp_path: Path) -> None:
    logs = pair(tmp_path, [-3.5, -2.0], [-3.0, -2.5], metric="word_perplexity")
    with pytest.raises(KgprobeError, match=r"no common metric .* they are no accuracies: word_perplexity"):
        kgprobe.compare(logs)
