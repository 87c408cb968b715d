"""``kgprobe.TrainerCallback`` in real trainings of a small model."""

import logging
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, default_data_collator, set_seed

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.running import training
from tests.models.tiny import byte_level, random_model
from tests.written_source import WrittenSource

CITIES = ["Tokyo", "Paris", "York", "Kyoto", "Zürich", "Łódź", "São Paulo", "Japan"]
STEPS = 30


@pytest.fixture
def capitals(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    entities = [Entity(f"c{n}", f"Country {n}", types=("country",)) for n in range(len(CITIES))]
    entities += [Entity(f"t{n}", name, types=("city",)) for n, name in enumerate(CITIES)]
    facts = [Fact(f"f{n}", f"c{n}", "capital", f"t{n}") for n in range(len(CITIES))]
    load(graph, WrittenSource(entities, facts, [Relation("capital", "capital", clozes=("The capital of [X] is [Y]",))]))
    return graph


class Heard(TrainerCallback):
    """Another callback: what it is told, and some numbers that it draws, as a loader of data might."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []
        self.drawn: list[float] = []
        self.modes: list[list[bool]] = []

    def on_log(self, *_, logs, **__):
        self.logs.append(dict(logs))

    def on_step_begin(self, *_, model, **__):
        self.drawn += [random.random(), float(np.random.random()), float(torch.rand(()))]
        self.modes.append([module.training for module in model.modules()])


def trainer_of(
    folder: Path, heard: Heard, wrap=lambda model: model, rate: float = 3e-3, dropout: float = 0.1, **options: Any
) -> Trainer:
    tokenizer = byte_level(bos=True)
    model = wrap(random_model("gpt2", len(tokenizer), attn_pdrop=dropout, embd_pdrop=dropout, resid_pdrop=dropout))
    model.train()
    texts = [f"The capital of Country {n} is {name}</s>" for n, name in enumerate(CITIES)]
    rows = [tokenizer(text)["input_ids"] for text in texts]
    longest = max(map(len, rows))
    data = [
        {
            "input_ids": row + [1] * (longest - len(row)),
            "labels": row + [-100] * (longest - len(row)),
            "attention_mask": [1] * len(row) + [0] * (longest - len(row)),
        }
        for row in rows
    ]
    arguments = TrainingArguments(
        output_dir=str(folder),
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        **{
            "max_steps": STEPS,
            "per_device_train_batch_size": 8,
            "learning_rate": rate,
            "lr_scheduler_type": "constant",
            "logging_steps": 10,
            **options,
        },
    )
    return Trainer(
        model,
        arguments,
        train_dataset=data,
        processing_class=tokenizer,
        data_collator=default_data_collator,
        callbacks=[heard],
    )


def figures(trainer: Trainer) -> dict[int, dict[str, float]]:
    return {one["step"]: one for one in trainer.state.log_history if "kgprobe/known" in one}


def test_training_is_the_same_and_its_logs_say_what_is_known(
    capitals: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures_of = training.TrainerCallback._figures

    def drawing(self):
        # As a probe may that somebody adds.
        random.random(), np.random.random(), torch.rand(())
        return figures_of(self)

    monkeypatch.setattr(training.TrainerCallback, "_figures", drawing)
    heard, silent = Heard(), Heard()
    # Checkpointing as the trainer does it: the scorer must neither need nor end it.
    alone, asked = (trainer_of(tmp_path, one, activation_checkpointing=True) for one in (silent, heard))
    callback = kgprobe.TrainerCallback(asked, capitals, every=10, distractors=3, sentences=1)
    asked.add_callback(callback)
    for trainer in (alone, asked):
        set_seed(1)
        trainer.train()
    for (name, one), other in zip(alone.model.named_parameters(), asked.model.parameters(), strict=True):
        assert torch.equal(one, other), name
    assert (silent.drawn, silent.modes) == (heard.drawn, heard.modes)
    assert asked.processing_class("</s>", add_special_tokens=False)["input_ids"] == [1]

    found = figures(asked)
    assert list(found) == [0, 10, 20, 30]
    for one in found.values():
        assert 0 <= one["kgprobe/known_low"] <= one["kgprobe/known"] <= one["kgprobe/known_high"] <= 1
        assert one["kgprobe/asked"] == len(CITIES)
        assert one["kgprobe/seconds"] > 0
    # What the trainer says of itself is still said, at the same steps.
    losses = [[one["loss"] for one in its.state.log_history if "loss" in one] for its in (alone, asked)]
    assert losses[0] == losses[1]
    assert len(losses[0]) == STEPS / 10
    assert [one["kgprobe/known"] for one in heard.logs if "kgprobe/known" in one] == [
        one["kgprobe/known"] for one in found.values()
    ]


def test_what_is_learned_shows(capitals: Graph, tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, Heard(), rate=3e-3, dropout=0.0, max_steps=80)
    trainer.add_callback(
        kgprobe.TrainerCallback(trainer, capitals, every=80, name="capitals", distractors=5, sentences=1)
    )
    trainer.train()
    known = [one["capitals/known"] for one in trainer.state.log_history if "capitals/known" in one]
    assert len(known) == 2
    assert known[0] < 0.6
    assert known[1] > 0.9


def test_adapter_counts(capitals: Graph, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    def with_adapter(model):
        return get_peft_model(
            model, LoraConfig(r=16, target_modules=["c_attn", "c_fc", "c_proj"], task_type="CAUSAL_LM")
        )

    trainer = trainer_of(tmp_path, Heard(), with_adapter, rate=1e-2, dropout=0.0, max_steps=60)
    trainer.add_callback(kgprobe.TrainerCallback(trainer, capitals, every=60, strict=True, distractors=5, sentences=1))
    trainer.train()
    known = [one["kgprobe/known"] for one in figures(trainer).values()]
    assert len(known) == 2
    assert known[1] > known[0]


def test_nothing_outlives_a_step(capitals: Graph, tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, Heard(), rate=1e-2, max_steps=20)
    trainer.add_callback(
        kgprobe.TrainerCallback(trainer, capitals, every=10, probe="examples", examples=3, choices=4, strict=True)
    )
    trainer.train()
    fresh = kgprobe.TrainerCallback(trainer, capitals, probe="examples", examples=3, choices=4, strict=True)
    fresh.on_train_begin(trainer.args, trainer.state, trainer.control)
    last, again = [one for one in trainer.state.log_history if "kgprobe/known" in one][-2:]
    assert last["kgprobe/known"] == again["kgprobe/known"]


@pytest.mark.slow
def test_error_ends_no_training_unless_it_shall(
    capitals: Graph, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise KgprobeError("the graph is gone")

    monkeypatch.setattr(training.TrainerCallback, "_figures", broken)
    trainer = trainer_of(tmp_path, Heard(), max_steps=3)
    trainer.add_callback(kgprobe.TrainerCallback(trainer, capitals, every=1))
    with caplog.at_level(logging.WARNING):
        trainer.train()
    assert trainer.state.global_step == 3
    said = [record.message for record in caplog.records if "the graph is gone" in record.message]
    assert said == ["kgprobe: No facts asked at step 0: the graph is gone"]
    strict = trainer_of(tmp_path, Heard(), max_steps=3)
    strict.add_callback(kgprobe.TrainerCallback(strict, capitals, every=1, strict=True))
    with pytest.raises(KgprobeError, match="the graph is gone"):
        strict.train()


@pytest.mark.parametrize("most", [pytest.param(None, marks=pytest.mark.slow), 0.5])
def test_asking_keeps_to_its_share_of_the_time(
    capitals: Graph,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    most: float | None,
) -> None:
    now = [0.0]
    monkeypatch.setattr(training, "_clock", lambda: now[0])
    trainer = trainer_of(tmp_path, Heard(), max_steps=12)
    callback = kgprobe.TrainerCallback(trainer, capitals, every=2, most_of_time=most, distractors=2, sentences=1)
    figures_of = training.TrainerCallback._figures

    def slow(self):
        now[0] += 2.0
        return figures_of(self)

    monkeypatch.setattr(training.TrainerCallback, "_figures", slow)

    class Ticking(TrainerCallback):
        def on_step_begin(self, *_, **__):
            now[0] += 1.0

    trainer.add_callback(callback)
    trainer.add_callback(Ticking())
    with caplog.at_level(logging.WARNING):
        trainer.train()
    said = [record.message for record in caplog.records if "Probing takes" in record.message]
    assert len(said) == 1
    # Two seconds are half of the time of four steps of one.
    assert list(figures(trainer)) == ([0, 2, 4, 6, 8, 10, 12] if most is None else [0, 2, 6, 10, 12])
    assert ("`every`=200" in said[0]) if most is None else ("every 4 steps" in said[0])


def test_what_cannot_be_is_said(capitals: Graph, tmp_path: Path) -> None:
    trainer = trainer_of(tmp_path, Heard())
    for wrong in ({"every": 0}, {"most_of_time": 2}, {"probe": "questions"}, {"distractors": 0}):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            kgprobe.TrainerCallback(trainer, capitals, **wrong)
    trainer.processing_class = None
    with pytest.raises(KgprobeError, match="processing_class=tokenizer"):
        kgprobe.TrainerCallback(trainer, capitals)
