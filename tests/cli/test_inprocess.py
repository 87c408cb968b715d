"""Commands in the test's own process end as those in a process of their own."""

import logging
import os
import sys
from pathlib import Path

import pytest

from tests.cli.inprocess import run
from tests.graph.servers.servers import kgprobe


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("nonsense",),
        ("graph", "start", "--graph", "bolt://somewhere:7687"),
    ],
)
def test_it_ends_as_a_process_does(arguments: tuple[str, ...], tmp_path: Path) -> None:
    environment = {"KGPROBE_HOME": str(tmp_path), "COLUMNS": "80"}
    own, other = run(*arguments, **environment), kgprobe(*arguments, **environment)
    called = other.stderr.replace("python -m kgprobe", "kgprobe"), other.stdout.replace("python -m kgprobe", "kgprobe")
    assert (own.returncode, own.stderr, own.stdout) == (other.returncode, *called)


def test_it_leaves_no_trace() -> None:
    before = dict(os.environ), list(sys.argv), sys.stdin, sys.stdout, sys.stderr, list(logging.getLogger().handlers)
    assert run("--debug", "templates", "list", "nowhere", SOME_VARIABLE="1").returncode == 2
    assert run("templates", "list", "--check", "nowhere", "--debug").returncode == 1
    after = dict(os.environ), list(sys.argv), sys.stdin, sys.stdout, sys.stderr, list(logging.getLogger().handlers)
    assert before == after


def test_traceback_is_on_stderr() -> None:
    done = run("templates", "list", "--check", "nowhere", "--debug")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback (most recent call last)" in done.stderr
    assert "nowhere" in done.stderr.splitlines()[-1]


def test_environment_of_the_developer_has_no_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KGPROBE_GRAPH", "bolt://127.0.0.1:9")
    done = run("graph", "status", KGPROBE_HOME=str(tmp_path))
    assert "127.0.0.1" not in done.stdout + done.stderr
