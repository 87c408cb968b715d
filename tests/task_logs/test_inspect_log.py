"""Logs of Inspect: written by it, and damaged ones."""

import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.task_logs.opening import open_task_log
from tests.task_logs.written import write_inspect_log

pytest.importorskip("inspect_ai", reason="Inspect is not installed: python -m pip install inspect-ai")


def reported(log: Any, metric: str, reducer: str | None = None) -> float:
    """Return an accuracy as Inspect reports it."""
    (scores,) = [each for each in log.results.scores if (each.name, each.reducer) == (metric, reducer)]
    return float(scores.metrics["accuracy"].value)


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_inspect_log_means_equal_its_results(tmp_path: Path, log_format: str) -> None:
    theirs = write_inspect_log(tmp_path, {1, 2, 30}, log_format=log_format)
    assert theirs.status == "success"
    ours = open_task_log(tmp_path)
    task = ours.tasks["own"]
    assert (ours.tool, ours.model, len(task.documents)) == ("Inspect", "counting/numbers", 40)
    for metric in ("match", "includes"):
        assert task.mean(metric) == reported(theirs, metric) == task.reported[metric]
    assert task.mean("match") == 37 / 40
    document = next(each for each in task.documents.values() if each.id == "2")
    assert (document.question, document.right_answer, document.values["match"]) == ("Say 1", "1", 0.0)
    assert document.answers["match"] == "no"


def test_inspect_log_keys_are_equal_in_both_forms(tmp_path: Path) -> None:
    keys = []
    for log_format in ("eval", "json"):
        write_inspect_log(tmp_path / log_format, {1}, log_format=log_format)
        keys.append(list(open_task_log(tmp_path / log_format).tasks["own"].documents))
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 40


def test_inspect_log_epochs_are_reduced_as_it_does(tmp_path: Path) -> None:
    from inspect_ai import Epochs

    theirs = write_inspect_log(tmp_path, {1}, epochs=Epochs(2, ["mean", "mode"]))
    task = open_task_log(tmp_path).tasks["own"]
    assert task.metrics == ["match (mean)", "match (mode)", "includes (mean)", "includes (mode)"]
    for reducer in ("mean", "mode"):
        assert task.mean(f"match ({reducer})") == reported(theirs, "match", reducer) == 39 / 40


def test_inspect_log_other_endings_are_refused(tmp_path: Path) -> None:
    write_inspect_log(tmp_path, {1}, limit=5)
    (path,) = tmp_path.glob("*.eval")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(KgprobeError, match="is not a complete zip file"):
        open_task_log(path)
    # A byte of the compressed header.
    place = whole.rindex(b"header.json", 0, whole.rindex(b"header.json")) + 40
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
    with pytest.raises(KgprobeError, match=r"is damaged: header.json"):
        open_task_log(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(KgprobeError, match=r"is unfinished: it has no header.json"):
        open_task_log(path)


def test_inspect_log_without_success_is_refused(tmp_path: Path) -> None:
    write_inspect_log(tmp_path, {1}, log_format="json", limit=5)
    (path,) = tmp_path.glob("*.json")
    path.write_text(path.read_text().replace('"status": "success"', '"status": "cancelled"', 1))
    with pytest.raises(KgprobeError, match="is unfinished: its status is 'cancelled'"):
        open_task_log(path)


def test_inspect_log_newest_is_by_time_not_by_text(tmp_path: Path) -> None:
    for name, wrong, created in (("a", {1}, "2026-01-02T09:00:00+09:00"), ("b", {1, 2}, "2026-01-02T01:00:00+00:00")):
        write_inspect_log(tmp_path / name, wrong, log_format="json", limit=5)
        (path,) = (tmp_path / name).glob("*.json")
        changed = re.sub(r'"created": "[^"]*"', f'"created": "{created}"', path.read_text(), count=1)
        (tmp_path / f"{name}.json").write_text(changed)
    assert open_task_log(tmp_path).tasks["own"].mean("match") == 3 / 5
    (tmp_path / "a.json").write_text((tmp_path / "a.json").read_text().replace("2026-01-02T09:00:00+09:00", "", 1))
    with pytest.raises(KgprobeError, match=r"a\.json has no time of creation, so that the newest is unknown"):
        open_task_log(tmp_path)
