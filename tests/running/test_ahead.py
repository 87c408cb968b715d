"""Batches that are drawn while the one before them is computed: same computations, same answers, same errors."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kgprobe.answers.callbacks import Batch, Callbacks, Stop
from kgprobe.answers.store import FILE
from kgprobe.base.progress import share_counter
from kgprobe.models.computing import in_turn
from kgprobe.probes.outcome import Outcome
from kgprobe.running.measurement import ask_each
from kgprobe.sampling.keys import FactKey
from tests.running.test_measurement import CONFIGURED, KEYS, WrittenProbe

SECONDS = 10.0


class ComputedProbe(WrittenProbe):
    """One that draws its facts on the host, and then computes them twice; ``log`` has the steps in their order."""

    def __init__(self, fault: str = "", step: Callable[[str, Sequence[FactKey]], None] = lambda *_: None) -> None:
        super().__init__()
        self.fault, self.step = fault, step
        self.log: list[str] = []
        self.threads: set[int] = set()

    def ask(self, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        count = share_counter(len(facts))
        self._do("draw", facts)
        for _ in facts[1:]:
            count(1)
        self._compute(facts)
        self._compute(facts)
        count(1)
        return super().ask(facts, seed)

    @in_turn
    def _compute(self, facts: Sequence[FactKey]) -> None:
        self.threads.add(threading.get_ident())
        self._do("compute", facts)

    def _do(self, step: str, facts: Sequence[FactKey]) -> None:
        self.log.append(f"{step} {facts[0].fact}")
        self.step(step, facts)
        if self.log[-1] == self.fault:
            raise ValueError(self.fault)


def ask(probe: WrittenProbe, folder: Path, *, ahead: bool = True, **options: Any) -> Stop:
    return ask_each(probe, KEYS, 1, folder, CONFIGURED, batch=4, ahead=ahead, **options).stopped


def trail(folder: Path) -> bytes:
    return (folder / FILE).read_bytes()


@pytest.fixture
def undisturbed(tmp_path: Path) -> bytes:
    ask(ComputedProbe(), tmp_path / "undisturbed", ahead=False)
    return trail(tmp_path / "undisturbed")


def test_next_batch_is_drawn_during_a_computation(tmp_path: Path, undisturbed: bytes) -> None:
    drawn = {fact: threading.Event() for fact in ("f4", "f8")}

    def wait(step: str, facts: Sequence[FactKey]) -> None:
        following = f"f{int(facts[0].fact[1:]) + 4}"
        if step == "draw" and facts[0].fact in drawn:
            drawn[facts[0].fact].set()
        if step == "compute" and following in drawn:
            assert drawn[following].wait(SECONDS)

    told: list[float] = []
    callbacks = Callbacks(on_part=told.append, on_batch=lambda batch: told.append(-batch.done))
    probe = ComputedProbe(step=wait)
    assert ask(probe, tmp_path / "ahead", callbacks=callbacks) is Stop.DONE
    computed = [step for step in probe.log if step.startswith("compute")]
    assert computed == [f"compute f{first}" for first in (0, 0, 4, 4, 8, 8)]
    assert probe.threads == {threading.get_ident()}
    assert trail(tmp_path / "ahead") == undisturbed
    # The progress of a batch ahead waits for its turn.
    assert told[told.index(-4) - 1 :] == [4, -4, 4, -8, 3, -11]


def test_batch_ahead_is_drawn_only_during_a_computation(tmp_path: Path) -> None:
    probe = WrittenProbe()
    assert ask(probe, tmp_path, callbacks=Callbacks(should_stop=lambda: True)) is Stop.ASKED_TO
    assert probe.asked == KEYS[:4]


@pytest.mark.parametrize("fault", ["draw f4", "compute f4", "draw f8"])
def test_error_of_a_batch_ahead_is_raised_at_its_turn(tmp_path: Path, undisturbed: bytes, fault: str) -> None:
    stored: list[int] = []
    probe = ComputedProbe(fault)
    with pytest.raises(ValueError, match=fault):
        ask(probe, tmp_path, callbacks=Callbacks(on_batch=lambda batch: stored.append(batch.done)))
    before = 4 if fault.endswith("f4") else 8
    assert stored == [*range(4, before + 1, 4)]
    assert trail(tmp_path) == b"".join(undisturbed.splitlines(keepends=True)[:before])
    assert ask(ComputedProbe(), tmp_path) is Stop.DONE
    assert trail(tmp_path) == undisturbed


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError, None])
def test_batch_ahead_of_the_end_is_not_computed(
    tmp_path: Path, undisturbed: bytes, end: type[BaseException] | None
) -> None:
    def interrupt(_: Batch) -> None:
        if end is not None:
            raise end

    probe = ComputedProbe()
    callbacks = Callbacks(on_batch=interrupt, should_stop=lambda: True)
    if end is None:
        assert ask(probe, tmp_path, callbacks=callbacks) is Stop.ASKED_TO
    else:
        with pytest.raises(end):
            ask(probe, tmp_path, callbacks=callbacks)
    assert "compute f4" not in probe.log
    assert [each.name for each in threading.enumerate() if each.name == "kgprobe-ahead"] == []
    assert ask(ComputedProbe(), tmp_path) is Stop.DONE
    assert trail(tmp_path) == undisturbed


def test_interrupted_computation_ends_both_threads(tmp_path: Path) -> None:
    drawing, interrupted = threading.Event(), threading.Event()

    def interrupt(step: str, facts: Sequence[FactKey]) -> None:
        if (step, facts[0].fact) == ("draw", "f4"):
            drawing.set()
            assert interrupted.wait(SECONDS)
        if step == "compute":
            assert drawing.wait(SECONDS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(ComputedProbe(step=interrupt), tmp_path)
    threads = [each for each in threading.enumerate() if each.name == "kgprobe-ahead"]
    interrupted.set()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads)
    assert trail(tmp_path) == b""


def kill_while_drawing(folder: Path, first: str) -> None:
    """End this process in the drawing of a batch."""

    def die(step: str, facts: Sequence[FactKey]) -> None:
        if (step, facts[0].fact) == ("draw", first):
            os._exit(9)

    ask(ComputedProbe(step=die), folder)


@pytest.mark.parametrize("first", ["f4", "f8"])
def test_process_killed_while_drawing_ahead_goes_on(tmp_path: Path, undisturbed: bytes, first: str) -> None:
    child = multiprocessing.get_context("fork").Process(target=kill_while_drawing, args=(tmp_path, first))
    child.start()
    child.join(SECONDS)
    assert child.exitcode == 9
    # The batch before the one ahead was being computed.
    assert len(trail(tmp_path).splitlines()) == (0 if first == "f4" else 4)
    assert ask(ComputedProbe(), tmp_path) is Stop.DONE
    assert trail(tmp_path) == undisturbed
