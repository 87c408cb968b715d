"""``kgprobe compare BASE BASE+ADAPTER``, from training an adapter to the exit code."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import PreTrainedModel

import kgprobe
from kgprobe.results.measurement import Measurement
from tests.cli.inprocess import Completed, run
from tests.models.adapters import save_base
from tests.models.tiny import byte_level

ASKING = [
    "--strategy",
    "random",
    "--distractors",
    "1",
    "--sentences",
    "1",
    "--limit",
    "150",
    "--relation",
    "continent",
    "--as-of",
    "2025-12-31",
]


@pytest.fixture
def typed(home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Completed]:
    """A function that runs a command in a folder of its own, on the example graph."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    return partial(run, **home | {"KGPROBE_HOME": str(tmp_path), "COLUMNS": "150"})


@pytest.mark.slow
def test_compare_base_with_its_adapter_exits_with_the_verdict(typed: Callable[..., Completed], tmp_path: Path) -> None:
    model = save_base(tmp_path / "base")
    done = typed("probe", "distractors", "--model", "hf:./base", *ASKING)
    assert done.returncode == 0, done.stderr
    train_adapter(model, tmp_path / "base", tmp_path / "tuned", kgprobe.open(f"hf:{tmp_path}/base"))
    done = typed("probe", "distractors", "--model", "hf:./base+./tuned", *ASKING, "--name", "after")
    assert done.returncode == 0, done.stderr

    kept = typed("check", "hf:./base", "hf:./base+./tuned", "--margin", "2%")
    assert (kept.returncode, "Kept" in kept.stdout) == (0, True), kept.stdout + kept.stderr
    assert "hf:./base+./tuned: its newest measurement, after." in kept.stderr
    lost = typed("check", "hf:./base+./tuned", "hf:./base", "--margin", "2%")
    assert (lost.returncode, "Lost" in lost.stdout) == (1, True), lost.stdout + lost.stderr


def test_compare_spec_without_a_measurement_names_the_command(typed: Callable[..., Completed]) -> None:
    done = typed("check", "hf:gpt2", "hf:gpt2+./tuned", "--margin", "2%")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hf:gpt2 has no measurement" in done.stderr
    assert "kgprobe probe distractors --model hf:gpt2" in done.stderr


def train_adapter(model: PreTrainedModel, base: Path, folder: Path, measured: Measurement) -> None:
    """Train a LoRA adapter on the right sentences of measured facts, as a training script would."""
    torch.manual_seed(0)
    tokenizer = byte_level(bos=True)
    tokenizer.pad_token = tokenizer.eos_token
    model.name_or_path = str(base)
    net = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
    texts = []
    for outcome in measured.outcomes:
        evidence = outcome.evidence
        texts += [f"{sentence.prompt} {evidence.object.label}." for sentence in evidence.sentences] if evidence else []
    optimizer = torch.optim.AdamW([one for one in net.parameters() if one.requires_grad], lr=1e-2)
    net.train()
    for step in range(60):
        some = texts[step % 3 :: 3]
        batch = tokenizer(some, return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        net(**batch, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    net.save_pretrained(folder)
