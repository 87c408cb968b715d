"""``kgprobe compare`` and ``kgprobe check`` on logs of other tools."""

import json
from pathlib import Path

import pytest

from tests.cli.inprocess import Completed, run
from tests.stored import store_measurement
from tests.task_logs.written import write_lines

NAME = "samples_arc_2026-01-02T03-04-05.000001.jsonl"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with the logs of a base model and of three changed ones."""
    write_lines(tmp_path / "base" / NAME, [1.0] * 600)
    for name, lost in (("same", 0), ("between", 12), ("worse", 60)):
        write_lines(tmp_path / name / NAME, [0.0] * lost + [1.0] * (600 - lost))
    return tmp_path


def compare(folder: Path, *arguments: str, command: str = "compare") -> Completed:
    return run(command, *arguments, KGPROBE_HOME=str(folder / "home"), COLUMNS="150")


def check(folder: Path, *arguments: str) -> Completed:
    return compare(folder, *arguments, command="check")


@pytest.mark.parametrize(("tuned", "code"), [("same", 0), ("worse", 1), ("between", 3)])
def test_check_logs_exit_code_is_the_verdict(logs: Path, tuned: str, code: int) -> None:
    done = check(logs, str(logs / "base"), str(logs / tuned / NAME))
    assert done.returncode == code, done.stdout + done.stderr
    verdict = {0: "Kept", 1: "Lost", 3: "Undecided"}[code]
    assert f"{verdict}: 1 of 1 row (task and metric)" in done.stdout
    assert ("Question 0" in done.stdout) == (tuned != "same")
    printed = json.loads(check(logs, str(logs / "base"), str(logs / tuned), "--json").stdout)
    assert printed["verdict"] == verdict.lower()
    names = {Path(path).name for path in printed["files"]}
    assert names == {"task_losses.html", "task_losses.json", "losses.csv", "changed_documents.csv"}


def test_compare_logs_prints_differences(logs: Path) -> None:
    done = compare(logs, str(logs / "base"), str(logs / "worse"), "--metric", "acc")
    assert done.returncode == 0, done.stderr
    assert "-10.0" in done.stdout
    assert "significantly better on 0, worse on 1" in done.stdout
    kept = run("results", KGPROBE_HOME=str(logs / "home"), COLUMNS="400").stdout
    assert "significantly better on 0" in kept


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("base", "same", "worse"), "RESULT... has 3; a log is compared with one other."),
        (("base", "same", "--family", "a=b"), "--family is for a measurement or run; this is a log."),
        (("base", "same", "--metric", "bleu"), "--metric bleu is in no common task; the logs have acc."),
        (
            ("base", "stored"),
            "stored a measurement. Give results of one kind.",
        ),
        (
            ("stored", "stored2", "--metric", "acc"),
            "--metric is for a log; this is a measurement.",
        ),
    ],
)
def test_compare_logs_with_wrong_usage_is_refused(logs: Path, arguments: tuple[str, ...], said: str) -> None:
    for name in ("stored", "stored2"):
        store_measurement(logs / name, {"f0": True})
    paths = [str(logs / name) if (logs / name).exists() else name for name in arguments]
    done = compare(logs, *paths)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("command", ["compare", "check"])
@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        (NAME, {"doc_hash": "other"}, "cannot be paired: none of the 600 and 2 documents of arc is common"),
        ("samples_mmlu.jsonl", {}, "cannot be paired: no task is common"),
        ("nothing", {}, "holds no "),
    ],
)
def test_compare_logs_of_other_documents_exits_with_2(
    logs: Path, command: str, name: str, changes: dict[str, str], said: str
) -> None:
    write_lines(logs / "other" / name, [1, 0], **changes)
    done = compare(logs, str(logs / "base"), str(logs / "other"), command=command)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_check_logs_failure_exits_with_2(logs: Path) -> None:
    (logs / "worse" / NAME).write_text('{"doc_id": 0')
    done = check(logs, str(logs / "base"), str(logs / "worse"))
    assert done.returncode == 2
    assert "line 1 is not a JSON object: the log is unfinished" in " ".join(done.stderr.split())
