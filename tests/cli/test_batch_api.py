"""`--batch-api` as a user types it, on a local server with the protocol of batches."""

import hashlib
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgprobe.models.api import batches
from tests.cli.inprocess import run as kgprobe
from tests.cli.inprocess import succeed
from tests.models.api.batch_server import BatchServer

FACTS = ("--relation", "P36", "--as-of", "2024", "--limit", "40")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_FIRST_POLL", 0.001)
    monkeypatch.setattr(batches, "_LONGEST_POLL", 0.01)


def mixed(prompt: str) -> str:
    """Return an answer that depends on the prompt only."""
    return ["Yes, it is.", "No.", "Paris", "Berlin, I think."][hashlib.sha256(prompt.encode()).digest()[0] % 4]


def rows(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(json.loads(stdout)["outcomes"]).read_text().splitlines()]


def test_questions_in_batches_equal_direct_ones(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    with BatchServer(answer=mixed) as server:
        command = ["probe", "questions", "--model", f"openai:m@{server.url}", "--grader", f"openai:g@{server.url}"]
        command += [*FACTS, "--json"]
        prices = ["--input-price", "1", "--output-price", "10", "--max-cost", "10"]
        with monkeypatch.context() as patched:
            patched.setattr(batches, "time", SimpleNamespace(time=time.time, sleep=interrupt))
            stopped = kgprobe(*command, "--batch-api", *prices, **home)
        assert (stopped.returncode, len(server.batches)) == (1, 1)
        assert "Batch batch_0 continues at the server; repeat the command to collect its answers." in stopped.stderr

        done = succeed(*command, "--batch-api", *prices, **home)
        assert "batch batch_0 was submitted earlier; its answers are collected." in done.stderr
        # Questions, grades, answers that may be refusals; follow-up questions, their answers that may be refusals.
        models = [{line["body"]["model"] for line in batch.lines} for batch in server.batches.values()]
        assert models == [{"m"}, {"g"}, {"g"}, {"m"}, {"g"}]
        assert len(server.prompts()[0]) == 40
        assert server.direct == []
        assert set(server.answered.values()) == {1}
        # 40 questions were sent by the first command.
        asked = len(server.prompts()[3])
        assert f"openai:m@{server.url}: {asked} requests (0 of them repeated) in 2 batches, 0 answers" in done.stderr
        prompts = [prompt for batch in server.prompts()[::3] for prompt in batch]
        cost = sum(len(prompt.split()) + 10 * len(mixed(prompt).split()) for prompt in prompts) / 1e6 / 2
        assert f"{cost:.4f} in money" in done.stderr

        direct = succeed(*command, "--refresh", "--name", "direct", *prices, **home)
        assert (len(server.batches), len(server.direct)) == (5, sum(map(len, server.prompts())))
        assert rows(direct.stdout) == rows(done.stdout)
        verdicts = {row["verdict"] for row in rows(done.stdout)}
        assert {"right", "wrong"} <= verdicts

        # Everything is in the cache: another folder costs nothing.
        again = kgprobe(*command, "--batch-api", "--name", "again", **home)
        assert rows(again.stdout) == rows(done.stdout)
        assert len(server.batches) == 5


def test_continuations_in_one_batch_need_no_tokenizer(home: dict[str, str]) -> None:
    with BatchServer(answer=mixed) as server:
        command = ["probe", "generation", "--prompt", "sentences", "--model", f"openai:m@{server.url}", *FACTS]
        done = succeed(*command, "--batch-api", "--json", **home)
        assert [batch.endpoint for batch in server.batches.values()] == ["/v1/completions"]
        assert server.direct == []
        assert {row["verdict"] for row in rows(done.stdout)} <= {"right", "wrong"}
        assert len(rows(done.stdout)) == 40


def test_server_without_batches_names_the_option(home: dict[str, str]) -> None:
    with BatchServer(fail=lambda *_: (404, {"detail": "Not Found"})) as server:
        done = kgprobe("probe", "questions", "--model", f"openai:m@{server.url}", *FACTS, "--batch-api", **home)
    assert done.returncode == 1
    assert "seems to have no batch API" in done.stderr
    assert "Leave out --batch-api" in done.stderr
