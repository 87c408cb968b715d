"""Asking each fact of a list once: kept as it goes, gone on with, and never mixed."""

import json
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgprobe.answers.callbacks import Callbacks, Start, Stop
from kgprobe.answers.settings import (
    CONFIG,
    differences,
    digest_of,
    keep_device_time,
    read_config,
    read_device_time,
)
from kgprobe.answers.store import FILE, read_outcomes
from kgprobe.base.errors import KgprobeError
from kgprobe.base.progress import share_counter
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.models.computing import DeviceTime, computing, timing_the_device
from kgprobe.probes.outcome import Evidence, Outcome, Verdict
from kgprobe.running.measurement import Progress, ask_each
from kgprobe.sampling.keys import FactKey

KEYS = [FactKey(f"s{n % 3}", f"f{n}") for n in range(11)]
CONFIGURED = {"described": {"model": "m"}, "seed": 1}
STOPPED = Callbacks(should_stop=lambda: True)


class WrittenEvidence(Evidence, frozen=True, tag="written"):
    """Evidence of a test's probe."""

    seed: tuple[int, ...]
    question: str = "Is it?"
    right_answer: str = "yes"
    prediction: str | None = None
    probability: float | None = None
    chance: float | None = None


class WrittenProbe:
    """Some facts get no answer, as a set says; every fifth cannot be asked; the others are asked right."""

    relations = ("P1",)

    def __init__(self, silent: Collection[FactKey] = (), spent_after: int = 99) -> None:
        self.silent = silent
        self.left = spent_after
        self.asked: list[FactKey] = []

    def describe(self) -> dict[str, Any]:
        return {"model": "m"}

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        if self.left < len(facts):
            raise BudgetSpentError("spent", 0, len(facts))
        self.left -= len(facts)
        self.asked += facts
        return [self._outcome(fact, tuple(seed)) for fact in facts]

    def _outcome(self, fact: FactKey, seed: tuple[int, ...]) -> Outcome:
        if fact in self.silent:
            return Outcome(fact, Verdict.UNANSWERED, "P1", reason="500")
        if int(fact.fact[1:]) % 5 == 4:
            return Outcome(fact, Verdict.UNASKABLE, "P1", reason="no name")
        # An answer with that word in it is one all the same.
        return Outcome(fact, Verdict.RIGHT, "P1", "unanswered", evidence=WrittenEvidence(seed))


def ask(probe: WrittenProbe, folder: Path, **options: Any) -> Progress:
    return ask_each(probe, KEYS, 1, folder, CONFIGURED, **{"batch": 4} | options)


def outcomes_in(folder: Path) -> list[Outcome]:
    return list(read_outcomes(folder / FILE, WrittenEvidence))


def verdicts_in(folder: Path) -> list[tuple[str, str]]:
    return [(outcome.fact.fact, outcome.verdict.value) for outcome in outcomes_in(folder)]


def test_every_outcome_is_kept_as_what_it_is(tmp_path: Path) -> None:
    asked = ask(WrittenProbe(), tmp_path)
    assert (asked.facts, asked.done, asked.unanswered, asked.stopped) == (11, 11, 0, Stop.DONE)
    outcomes = outcomes_in(tmp_path)
    assert [outcome.fact for outcome in outcomes] == KEYS
    assert outcomes[0].evidence == WrittenEvidence((1,))
    assert (outcomes[4].verdict, outcomes[4].reason, outcomes[4].evidence) == (Verdict.UNASKABLE, "no name", None)
    assert read_config(tmp_path, "measurement") == CONFIGURED


@pytest.mark.parametrize("torn", ["", '{"place": 3, "fa', '{"whole": 1}'])
def test_what_was_interrupted_goes_on_without_asking_twice(tmp_path: Path, torn: str) -> None:
    ask(WrittenProbe(), tmp_path / "undisturbed")
    first = ask(WrittenProbe(), tmp_path / "cut", batch=3, callbacks=STOPPED)
    assert (first.done, first.stopped) == (3, Stop.ASKED_TO)
    with (tmp_path / "cut" / FILE).open("a") as file:
        file.write(torn)
    probe, starts = WrittenProbe(), list[Start]()
    second = ask(probe, tmp_path / "cut", batch=5, callbacks=Callbacks(on_start=starts.append))
    assert starts == [Start(facts=11, done=3, total=11)]
    assert (second.done, second.stopped, probe.asked) == (11, Stop.DONE, KEYS[3:])
    kept = [(tmp_path / name / FILE).read_bytes() for name in ("cut", "undisturbed")]
    assert kept[0] == kept[1]
    third = WrittenProbe()
    assert ask(third, tmp_path / "cut").stopped is Stop.DONE
    assert third.asked == []


def test_folder_belongs_to_one_measurement(tmp_path: Path) -> None:
    ask(WrittenProbe(), tmp_path)
    other = {"described": {"model": "m", "weights": "w"}, "seed": 2}
    with pytest.raises(KgprobeError, match=r"other settings \(weights was not set, is 'w'; seed was 1, is 2\)"):
        ask_each(WrittenProbe(), KEYS, 2, tmp_path, other)


def test_versions_of_libraries_are_kept_and_tell_nothing_apart(tmp_path: Path) -> None:
    old, new = ({**CONFIGURED, "versions": {"torch": version}} for version in ("1", "2"))
    assert digest_of(old) == digest_of(new) != digest_of({**new, "seed": 2})
    assert differences(old, new) == []
    ask_each(WrittenProbe(), KEYS, 1, tmp_path, old)
    ask_each(WrittenProbe(), KEYS, 1, tmp_path, new)
    assert read_config(tmp_path, "measurement")["versions"] == {"torch": "1"}


def test_damaged_answers_are_named(tmp_path: Path) -> None:
    ask(WrittenProbe(), tmp_path)
    path = tmp_path / FILE
    path.write_text(path.read_text().replace('"f6"', "f6"))
    with pytest.raises(KgprobeError, match=r"outcomes.jsonl, line 7: damaged"):
        outcomes_in(tmp_path)
    path.unlink()
    with pytest.raises(KgprobeError, match="does not exist"):
        outcomes_in(tmp_path)
    (tmp_path / CONFIG).write_text("{")
    with pytest.raises(KgprobeError, match="is damaged"):
        read_config(tmp_path, "measurement")


def test_more_answers_than_facts_are_not_taken(tmp_path: Path) -> None:
    ask(WrittenProbe(), tmp_path)
    with pytest.raises(KgprobeError, match="11 answers where there are 5 facts"):
        ask_each(WrittenProbe(), KEYS[:5], 1, tmp_path, CONFIGURED)


def test_what_got_no_answer_is_asked_again_after_all_else(tmp_path: Path) -> None:
    silent = {KEYS[1], KEYS[3], KEYS[5], KEYS[6]}
    first = ask(WrittenProbe(silent), tmp_path, batch=7, callbacks=STOPPED)
    assert (first.done, first.unanswered, first.stopped) == (7, 4, Stop.ASKED_TO)

    probe, starts = WrittenProbe({KEYS[5]}), list[Start]()
    second = ask(probe, tmp_path, batch=3, callbacks=Callbacks(on_start=starts.append))
    assert (second.done, second.unanswered, second.stopped) == (11, 1, Stop.DONE)
    assert [start.done for start in starts] == [3]
    assert probe.asked == [*KEYS[7:], KEYS[1], KEYS[3], KEYS[5], KEYS[6]]
    assert [fact for fact, verdict in verdicts_in(tmp_path) if verdict == "unanswered"] == ["f5"]

    last = WrittenProbe()
    assert ask(last, tmp_path).unanswered == 0
    assert last.asked == [KEYS[5]]
    ask(WrittenProbe(), tmp_path / "undisturbed")
    assert verdicts_in(tmp_path) == verdicts_in(tmp_path / "undisturbed")
    # Nothing is rewritten: later lines stand for earlier ones.
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    assert [line["place"] for line in lines] == [*range(11), 1, 3, 5, 6, 5]


def test_measurement_stops_without_answers_and_resumes(tmp_path: Path) -> None:
    silent = set(KEYS[3:6])
    first = ask(WrittenProbe(silent), tmp_path, batch=3)
    assert (first.done, first.stopped) == (6, Stop.NO_ANSWERS)
    assert "3 times because: 500" in str(first.reason)
    assert [verdict for _, verdict in verdicts_in(tmp_path)] == ["right"] * 3 + ["unanswered"] * 3
    assert ask(WrittenProbe(silent), tmp_path, batch=3).done == 11


def test_spent_budget_ends_measurement_and_keeps_answers(tmp_path: Path) -> None:
    first = ask(WrittenProbe({KEYS[0]}, spent_after=6), tmp_path, batch=3)
    assert (first.done, first.stopped, first.reason) == (6, Stop.BUDGET_SPENT, "spent")
    # Of what is asked again, too.
    second = ask(WrittenProbe({KEYS[0]}, spent_after=5), tmp_path, batch=3)
    assert (second.done, second.unanswered, second.stopped) == (11, 1, Stop.BUDGET_SPENT)
    third = WrittenProbe()
    last = ask(third, tmp_path)
    assert (last.stopped, last.unanswered, third.asked) == (Stop.DONE, 0, [KEYS[0]])


def test_one_process_at_a_time(tmp_path: Path) -> None:
    def meddle(_: Any) -> None:
        with pytest.raises(KgprobeError, match="Another process uses"):
            ask(WrittenProbe(), tmp_path)

    assert ask(WrittenProbe(), tmp_path, callbacks=Callbacks(on_batch=meddle)).stopped is Stop.DONE


def test_parts_of_a_batch_are_told_in_facts(tmp_path: Path) -> None:
    class TellingProbe(WrittenProbe):
        """One that says when each of its facts is done."""

        def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
            count = share_counter(len(facts))
            for _ in facts:
                count(1)
            return super().ask(facts, seed)

    told: list[float | int] = []
    callbacks = Callbacks(on_part=told.append, on_batch=lambda batch: told.append(batch.done))
    ask(TellingProbe(), tmp_path / "told", callbacks=callbacks)
    assert told == [1, 2, 3, 4, 4, 1, 2, 3, 4, 8, 1, 2, 3, 11]
    told.clear()
    ask(WrittenProbe(), tmp_path / "silent", callbacks=callbacks)
    assert told == [4, 8, 11]


def test_device_waited_is_time_without_computation(tmp_path: Path) -> None:
    class SlowProbe(WrittenProbe):
        """One that computes for a third of its time, in nested computations."""

        def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
            time.sleep(0.04)
            with computing(), computing():
                time.sleep(0.02)
            return super().ask(facts, seed)

    with timing_the_device() as timed:
        ask(SlowProbe(), tmp_path / "slow")
    # Three batches; a busy machine only adds to each time.
    assert timed.computed >= 0.06
    assert timed.seconds - timed.computed >= 0.12
    assert timed.waited == pytest.approx(1 - timed.computed / timed.seconds, abs=0.001)
    with timing_the_device() as idle:
        ask(WrittenProbe(), tmp_path / "idle")
    assert idle.waited is None


def test_device_time_of_all_calls_is_stored(tmp_path: Path) -> None:
    assert read_device_time(tmp_path).waited is None
    for seconds, computed in ((2.0, 1.5), (9.0, 0.0), (6.0, 0.5)):
        keep_device_time(tmp_path, DeviceTime(seconds, computed))
    # Nothing computed in the second call.
    assert read_device_time(tmp_path) == DeviceTime(8.0, 2.0)
    assert read_device_time(tmp_path).waited == 0.75
