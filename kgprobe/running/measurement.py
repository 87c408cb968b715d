"""A list of facts, each asked once and kept: what was asked before stays, and the same call goes on.

A measurement has a folder: ``config.json`` says what was measured and with what, ``outcomes.jsonl`` has the answers in
the order of the facts (:mod:`.store`). A question to which no answer came is put again, after all that were never put.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import make_folder
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.running.callbacks import NO_CALLBACKS, Batch, Callbacks, Start, Stop, ask_with_callbacks, why_silent
from kgprobe.running.claims import CONFIG, claim, read_config, read_form
from kgprobe.running.store import OutcomeStore
from kgprobe.sampling.keys import Keys

# What a folder of answers holds, in messages.
MEASUREMENT = "measurement"


class _Described(msgspec.Struct):
    """The part of a probe's description that names its model."""

    model: str


class _Settings(msgspec.Struct):
    """The part of a measurement's settings that is read later."""

    probe: str
    options: dict[str, Any]
    described: _Described
    relations: list[str]
    seed: int
    as_of: int
    graph: str
    reversed: bool


class _State(msgspec.Struct):
    """The part of a graph's state that names the graph."""

    uid: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """How far a measurement came.

    Attributes:
        facts: how many it is of.
        done: how many of them were asked, also before.
        unanswered: to how many of these no answer came.
        stopped: why it ended.
        reason: more on that, in a sentence, where there is more to say.
    """

    facts: int
    done: int
    unanswered: int
    stopped: Stop
    reason: str | None = None


def read_measurement(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder's measurement.

    Raises:
        KgprobeError: the folder holds no measurement, or its settings are damaged.
    """
    read_form(folder, MEASUREMENT, _Settings)
    return read_config(folder, MEASUREMENT)


def graph_of_measurement(folder: Path) -> str | None:
    """Return the uid of the graph that a folder's measurement asked.

    Raises:
        KgprobeError: as of :func:`read_measurement`.
    """
    state = read_form(folder, MEASUREMENT, _Settings).graph
    try:
        return msgspec.json.decode(state, type=_State).uid
    except msgspec.DecodeError as error:
        raise KgprobeError(f"{folder / CONFIG} is damaged: its graph has no state ({error}).") from error


def ask_each(
    probe: Probe,
    keys: Keys,
    seed: int,
    folder: Path,
    config: Mapping[str, Any],
    *,
    batch: int = 32,
    callbacks: Callbacks = NO_CALLBACKS,
) -> Asked:
    """Ask each fact once and keep the answers in a folder; what is there already is not asked again.

    Cost: a batch at a time. Memory: one batch, the keys, and the places that got no answer.

    Args:
        keys: the facts, each once, in the same order at each call.
        seed: what all random choices follow from.
        config: what the answers depend on; kept with them.
        batch: how many facts are asked together; has no say in the answers.

    Raises:
        KgprobeError: the folder belongs to another measurement, is in use, or cannot be written.
    """
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            claim(folder, config, MEASUREMENT)
            with OutcomeStore(folder) as store:
                return _ask(store, probe, keys, seed, batch, callbacks)
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process is at {folder} already.") from error


def _ask(store: OutcomeStore, probe: Probe, keys: Keys, seed: int, batch: int, callbacks: Callbacks) -> Asked:
    done, silent = store.standing()
    if done > len(keys):
        raise KgprobeError(f"{store.path} holds {done:,} answers where there are {len(keys):,} facts; delete it.")
    unanswered = set(silent)
    answered = done - len(silent)
    callbacks.on_start(Start(len(keys), answered, len(keys)))
    stopped, reason = Stop.DONE, None
    batches = itertools.chain(_batches(range(done, len(keys)), batch), _batches(silent, batch))
    for places in batches:
        try:
            outcomes = ask_with_callbacks(probe, [keys[place] for place in places], [seed], callbacks)
        except BudgetSpentError as error:
            stopped, reason = Stop.BUDGET_SPENT, str(error)
            break
        store.append(places, outcomes)
        done = max(done, places[-1] + 1)
        unanswered.difference_update(places)
        unanswered.update(_silent(places, outcomes))
        callbacks.on_batch(Batch(outcomes, done - len(unanswered)))
        reason = why_silent(outcomes)
        if reason is not None:
            stopped = Stop.NO_ANSWERS
            break
        if callbacks.should_stop():
            stopped = Stop.ASKED_TO
            break
    if stopped is Stop.ASKED_TO and next(batches, None) is None:
        stopped = Stop.DONE
    return Asked(len(keys), done, len(unanswered), stopped, reason)


def _batches(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (places[start : start + size] for start in range(0, len(places), size))


def _silent(places: Sequence[int], outcomes: Sequence[Outcome]) -> Iterator[int]:
    return (place for place, outcome in zip(places, outcomes, strict=True) if outcome.verdict is Verdict.UNANSWERED)
