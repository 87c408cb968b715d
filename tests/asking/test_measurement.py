"""Measurements: kept as they go, gone on with, and never mixed."""

import json
import math
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kgprobe.asking.distractor_measurement import TABLE, measure_distractors, measured_in
from kgprobe.asking.measurement import CONFIG, OUTCOMES, Progress, measure
from kgprobe.errors import KgprobeError
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.facts import FactKey

KEYS = [FactKey(f"s{n % 3}", f"f{n}") for n in range(11)]


class WrittenProbe:
    """Plausibilities from the seed and the fact; every fifth fact cannot be asked."""

    name = "distractors"
    relations = ("P1",)

    def __init__(self, distractors: int = 3) -> None:
        self.distractors = distractors
        self.asked: list[FactKey] = []

    def describe(self) -> dict[str, Any]:
        strategy = {"strategy": "random"}
        return {"model": "hf:./some/Model", "chance": None, "distractors": self.distractors, "strategy": strategy}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        self.asked += facts
        return [self._outcome(fact, int(fact.fact[1:]), seed) for fact in facts]

    def _outcome(self, fact: FactKey, number: int, seed: Sequence[int]) -> Outcome:
        if number % 5 == 4:
            return Outcome(fact, Verdict.UNASKABLE, reason="no name", evidence={"relation": "P1"})
        values = (-np.random.default_rng([*seed, number]).random(1 + self.distractors)).tolist()
        evidence = {
            "relation": "P1",
            "object": {"id": "o", "label": "O"},
            "rivals": [{"id": f"r{n}", "label": f"R{n}", "reason": "city"} for n in range(self.distractors)],
            "sentences": [
                {"prompt": "One is", "rivals": list(range(self.distractors)), "log_plausibility": values},
                {"prompt": "Two is", "rivals": [1], "log_plausibility": [values[0], -math.inf]},
            ],
        }
        return Outcome(fact, Verdict.RIGHT, "One is", evidence=evidence)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    return tmp_path


def test_every_plausibility_is_kept() -> None:
    done = measure_distractors(WrittenProbe(), KEYS, 1, batch=4)
    assert (done.facts, done.done, done.complete) == (11, 11, True)
    lines = [json.loads(line) for line in (done.folder / OUTCOMES).read_text().splitlines()]
    assert [line["fact"] for line in lines] == [key.fact for key in KEYS]
    table = pd.read_parquet(done.folder / TABLE)
    unaskable = table[table["verdict"] == "unaskable"]
    assert sorted(unaskable["fact"]) == ["f4", "f9"]
    assert set(unaskable["reason"]) == {"no name"}
    assert len(table) == 2 + 9 * (4 + 2)
    for line in lines:
        if line["verdict"] == "unaskable":
            continue
        rows = table[(table["fact"] == line["fact"]) & (table["sentence"] == 0)].sort_values("rank")
        assert rows["entity"].tolist() == ["o", "r0", "r1", "r2"]
        assert rows["log_plausibility"].tolist() == line["evidence"]["sentences"][0]["log_plausibility"]
        second = table[(table["fact"] == line["fact"]) & (table["sentence"] == 1)]
        assert second["entity"].tolist() == ["o", "r1"]
        assert second["log_plausibility"].tolist()[1] == -math.inf
    measured = measured_in(done)
    assert measured.min_at_n.shape == (9, 3)
    assert measured.unaskable == {"no name": 2}


@pytest.mark.parametrize("torn", ["", '{"subject": "s0", "fa', '{"whole": 1}'])
def test_what_was_interrupted_goes_on_without_asking_twice(torn: str) -> None:
    undisturbed = (measure_distractors(WrittenProbe(), KEYS, 1, name="undisturbed").folder / OUTCOMES).read_text()
    stop = Progress(should_stop=lambda: True)
    first = measure_distractors(WrittenProbe(), KEYS, 1, batch=3, progress=stop)
    assert (first.done, first.complete) == (3, False)
    assert not (first.folder / TABLE).exists()
    with (first.folder / OUTCOMES).open("a") as file:
        file.write(torn)
    probe, starts = WrittenProbe(), list[tuple[int, int]]()
    second = measure_distractors(
        probe, KEYS, 1, batch=5, progress=Progress(lambda facts, done: starts.append((facts, done)))
    )
    assert second.folder == first.folder
    assert starts == [(11, 3)]
    assert probe.asked == KEYS[3:]
    assert (second.folder / OUTCOMES).read_text() == undisturbed
    third = WrittenProbe()
    assert measure_distractors(third, KEYS, 1).complete
    assert third.asked == []


def test_other_settings_are_another_measurement() -> None:
    folders = {
        measure_distractors(WrittenProbe(), KEYS, 1).folder,
        measure_distractors(WrittenProbe(), KEYS, 2).folder,
        measure_distractors(WrittenProbe(2), KEYS, 1).folder,
        measure_distractors(WrittenProbe(), KEYS[1:], 1).folder,
        measure_distractors(WrittenProbe(), KEYS, 1, origin={"graph": "other"}).folder,
    }
    assert len(folders) == 5
    assert all(folder.name.startswith("some-model-random-distractors-") for folder in folders)
    measure_distractors(WrittenProbe(), KEYS, 1, name="mine")
    with pytest.raises(KgprobeError, match=r"other settings \(probe.distractors, seed\)"):
        measure_distractors(WrittenProbe(2), KEYS, 2, name="mine")


def test_damaged_answers_are_named() -> None:
    done = measure_distractors(WrittenProbe(), KEYS, 1)
    path = done.folder / OUTCOMES
    path.write_text(path.read_text().replace('"f6"', "f6"))
    with pytest.raises(KgprobeError, match=r"outcomes.jsonl, line 7: damaged"):
        measured_in(done)
    assert json.loads((done.folder / CONFIG).read_text())["facts"]["count"] == 11


class SilentProbe:
    """Some facts get no answer, as a set says; each is asked right otherwise."""

    name = "questions"
    relations = ("P1",)

    def __init__(self, silent: Collection[FactKey] = (), spent_after: int = 99) -> None:
        self.silent = silent
        self.left = spent_after
        self.asked: list[FactKey] = []

    def describe(self) -> dict[str, Any]:
        return {"model": "openai:m", "chance": None}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        if self.left < len(facts):
            raise BudgetSpentError("spent", 0, len(facts))
        self.left -= len(facts)
        self.asked += facts
        return [
            Outcome(fact, Verdict.UNANSWERED, reason="500")
            if fact in self.silent
            # An answer with that word in it is one all the same.
            else Outcome(fact, Verdict.RIGHT, "unanswered", evidence={"seed": list(seed)})
            for fact in facts
        ]


def test_what_got_no_answer_is_asked_again_after_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = (measure(SilentProbe(), KEYS, 1, way="hard", name="undisturbed").folder / OUTCOMES).read_text()
    silent = {KEYS[1], KEYS[4], KEYS[5], KEYS[6]}
    stop = Progress(should_stop=lambda: True)
    first = measure(SilentProbe(silent), KEYS, 1, way="hard", batch=7, progress=stop)
    assert (first.done, first.complete, first.stopped) == (7, False, "asked to")

    probe, starts = SilentProbe({KEYS[5]}), list[tuple[int, int]]()
    monkeypatch.setattr("kgprobe.asking.measurement._HELD", 1)
    progress = Progress(lambda facts, done: starts.append((facts, done)))
    second = measure(probe, KEYS, 1, way="hard", batch=3, progress=progress)
    assert (second.folder, second.done, second.unanswered, second.stopped) == (first.folder, 11, 1, "done")
    assert starts == [(11, 3)]
    assert probe.asked == [*KEYS[7:], KEYS[1], KEYS[4], KEYS[5], KEYS[6]]
    assert [row["fact"] for row in second.outcomes() if row["verdict"] == "unanswered"] == ["f5"]

    last = SilentProbe()
    assert (measure(last, KEYS, 1, way="hard").folder / OUTCOMES).read_text() == undisturbed
    assert last.asked == [KEYS[5]]
    assert first.folder.name.startswith("openai-m-hard-questions-")


def test_a_measurement_ends_where_nothing_is_heard_and_comes_further_the_next_time() -> None:
    silent = set(KEYS[3:6])
    first = measure(SilentProbe(silent), KEYS, 1, way="hard", batch=3)
    assert (first.done, first.stopped) == (6, "no answers")
    assert [row["verdict"] for row in first.outcomes()] == ["right"] * 3 + ["unanswered"] * 3
    assert (measure(SilentProbe(silent), KEYS, 1, way="hard", batch=3).done) == 11


def test_a_spent_budget_ends_a_measurement_and_keeps_what_was_asked() -> None:
    first = measure(SilentProbe({KEYS[0]}, spent_after=6), KEYS, 1, way="hard", batch=3)
    assert (first.done, first.stopped) == (6, "budget spent")
    # Of what is asked again, too.
    second = measure(SilentProbe({KEYS[0]}, spent_after=5), KEYS, 1, way="hard", batch=3)
    assert (second.done, second.stopped, second.complete) == (11, "budget spent", True)
    third = SilentProbe()
    last = measure(third, KEYS, 1, way="hard")
    assert (last.stopped, third.asked) == ("done", [KEYS[0]])
    assert {row["verdict"] for row in last.outcomes()} == {"right"}
