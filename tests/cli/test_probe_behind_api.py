"""Probes that score, of a model behind an API: the same numbers as of the same model here."""

import json

import numpy as np
import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.cli.inprocess import run as kgprobe
from tests.models.api.score_server import ScoreServer


@pytest.mark.parametrize(
    "probe",
    [
        ("examples", "--choices", "3", "--examples", "2"),
        pytest.param(("distractors", "--strategy", "random", "--distractors", "3"), marks=pytest.mark.slow),
        pytest.param(
            ("distractors", "--strategy", "approximate-optimal", "--distractors", "2"), marks=pytest.mark.slow
        ),
    ],
)
def test_probe_finds_the_same_behind_an_api(home: dict[str, str], talker: str, probe: tuple[str, ...]) -> None:
    folder = talker.removeprefix("hf:")
    command = ["probe", *probe, "--limit", "3", "--as-of", "2024", "--json"]
    found = []
    with ScoreServer(AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)) as server:
        behind = ["--model", f"openai:tiny@{server.url}", "--tokenizer", talker, "--concurrency", "4"]
        for model in (["--model", talker], behind):
            done = kgprobe(*command, *model, **home)
            assert done.returncode == 0, done.stderr
            found.append(json.loads(done.stdout))
    assert "requests" in done.stderr
    here, there = found
    assert (here["done"], here["unaskable"]) == (there["done"], there["unaskable"])
    for one, other in zip(here["tables"].values(), there["tables"].values(), strict=True):
        for row, its in zip(one["rows"], other["rows"], strict=True):
            for name, value in row.items():
                if isinstance(value, float):
                    np.testing.assert_allclose(its[name], value, atol=1e-3)
                else:
                    assert its[name] == value
