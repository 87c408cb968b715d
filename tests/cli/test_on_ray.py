"""`--ray` as a user types it: refused for an API; Ctrl-C and a killed command lose nothing."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.inprocess import run
from tests.servers.servers import clean_environment

pytest.importorskip("ray")

RULES = ("--min-facts", "50", "--min-objects", "20", "--train", "10", "--test", "30", "--alternatives", "4")


def test_ray_for_an_api_is_refused(home: dict[str, str]) -> None:
    command = ("dataset", "probe", "somewhere", "--model", "openai:some@http://localhost:1/v1", "--ray", "2")
    refused = run(*command, **home)
    said = " ".join(refused.stderr.split())
    assert (refused.returncode, "--ray is 2; openai:some@http://localhost:1/v1 is behind an API" in said) == (2, True)
    assert "Parallel requests to it are --concurrency." in said
    assert run(*command[:-1], "0", **home).returncode == 2


def begun(command: list[str], answers: Path, home: dict[str, str]) -> "subprocess.Popen[str]":
    """Return a command in a session of its own, which has stored its first batch."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kgprobe", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment() | home,
        start_new_session=True,
    )
    while not answers.exists() or not answers.read_bytes():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.slow
def test_probe_on_workers_interrupted_and_killed_continues(home: dict[str, str], talker: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "mc")
    built = run("dataset", "build", folder, *RULES, "--relation", "P36", "--as-of", "2025-12", **home)
    assert built.returncode == 0, built.stderr
    probe = ["dataset", "probe", folder, "--model", talker, "--examples", "2", "--batch-size", "1", "--json"]
    results = Path(home["KGPROBE_HOME"]) / "probes"
    answers = results / "shared" / "outcomes.jsonl"
    on_workers = [*probe, "--name", "shared", "--ray", "2"]
    # Ctrl-C reaches all processes of a terminal.
    process = begun(on_workers, answers, home)
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=300)
    assert process.returncode == 0, stderr
    assert "Repeat the command to continue." in stderr
    # Nothing else is on stdout.
    done = json.loads(stdout)["facts"]
    assert len(answers.read_text().splitlines()) > 0
    answers_before = answers.read_bytes()
    process = begun(on_workers, answers, home)
    while answers.read_bytes() == answers_before:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    workers = [one for one in psutil.Process(process.pid).children(recursive=True) if "ModelWorker" in one.name()]
    assert workers
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=300)
    # Models leave memory with the command.
    assert psutil.wait_procs(workers, timeout=300)[1] == []
    assert answers.read_bytes().startswith(answers_before)
    for name in ("shared", "alone"):
        finished = run(*probe, "--name", name, **home)
        assert finished.returncode == 0, finished.stderr
        assert json.loads(finished.stdout)["facts"] == 30 >= done
    lines = [
        [json.loads(line) for line in (results / name / "outcomes.jsonl").read_text().splitlines()]
        for name in ("shared", "alone")
    ]
    assert [[line["fact"] for line in each] for each in lines] == [[line["fact"] for line in lines[1]]] * 2
    assert [line["verdict"] for line in lines[0]] == [line["verdict"] for line in lines[1]]
