"""Measurements: ask each fact of a list once, store the answers, and resume with the same call.

The folder of a measurement contains its settings (``config.json``) and its answers in the order of the facts
(``outcomes.jsonl``, :mod:`kgprobe.answers.store`). Unanswered questions are asked again after all new ones.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import filelock

from kgprobe.answers.callbacks import NO_CALLBACKS, Batch, Callbacks, Start, Stop, why_silent
from kgprobe.answers.settings import (
    CONFIG,
    MEASUREMENT,
    claim,
    digest_of,
    keep_declined,
    keep_device_time,
    read_config,
    require_identical,
    versions,
)
from kgprobe.answers.store import OutcomeStore
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, make_folder
from kgprobe.graph.reversal import asked_by
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.models.computing import timing_the_device
from kgprobe.models.model import Model, Models
from kgprobe.models.spec_forms import short_name
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.probes.register import ProbeKind
from kgprobe.running.ahead import ask_ahead
from kgprobe.running.plan import Asking
from kgprobe.sampling.keys import Keys

# Reference date of a data set, whose facts have none.
NO_DATE = 0
# Options that name models.
_HELPERS = ("writer", "grader")


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a measurement.

    Attributes:
        done: number of asked facts, including earlier calls.
        unanswered: number of asked facts without an answer.
        reason: details, as a sentence; None if there are none.
    """

    facts: int
    done: int
    unanswered: int
    stopped: Stop
    reason: str | None = None


def check_helpers(models: Models, asked: Model, options: Mapping[str, Any]) -> None:
    """Open the models that options name, to report a wrong spec or a missing folder; none is loaded."""
    for role in _HELPERS:
        if options.get(role) is not None:
            models.open(options[role])
    models.check_batch_api(asked)


def check_name(name: str | None, kind: ProbeKind, options: Any, seed: int, model: Model) -> None:
    """Raise KgprobeError if a name belongs to a measurement of another model, probe, seed or other options."""
    folder = home() / "probes" / (name or "")
    if name is not None and (folder / CONFIG).exists():
        stored = read_config(folder, MEASUREMENT)
        known = {"probe": kind.name, "options": asdict(options), "seed": seed, "described": {"model": model.name}}
        described = stored.get("described")
        model_name = str(described.get("model")) if isinstance(described, Mapping) else None
        own_part = {**{key: stored.get(key) for key in known}, "described": {"model": model_name}}
        require_identical(folder, own_part, known, MEASUREMENT)


def keep_answers(
    probe: Probe,
    kind: ProbeKind,
    options: Any,
    keys: Keys,
    seed: int,
    settings: Mapping[str, Any],
    model: Model,
    asking: Asking,
) -> tuple[Path, Progress]:
    """Ask each fact once, and store the answers with all settings on which they depend; see :func:`ask_each`.

    Args:
        probe: the probe, made of its kind and options.
        settings: the other settings: facts, date and graph.
        asking: name of the folder, batch size, open models and callbacks.

    Returns:
        The folder and the progress.
    """
    config = {
        "probe": kind.name,
        "options": asdict(options),
        "described": probe.describe(),
        "relations": list(probe.relations),
        "seed": seed,
        "versions": versions(),
        **settings,
    }
    name = asking.name
    if name is None:
        # Model, probe and a digest of the settings.
        probe_slug = asked_by(kind.name, config["reversed"], config.get("ask_in")).replace(" ", "-")
        name = f"{short_name(model.name)}-{probe_slug}-{digest_of(config)}"
    folder = home() / "probes" / name
    batch = asking.batch_size or asking.models.asked_together(model) or kind.batch_size
    with timing_the_device() as timed:
        progress = ask_each(
            probe,
            keys,
            seed,
            folder,
            config,
            batch=batch,
            ahead=asking.models.can_draw_ahead(model),
            callbacks=asking.callbacks,
        )
    keep_declined(folder, asking.models.spending.declined)
    keep_device_time(folder, timed)
    return folder, progress


def ask_each(
    probe: Probe,
    keys: Keys,
    seed: int,
    folder: Path,
    config: Mapping[str, Any],
    *,
    batch: int = 32,
    ahead: bool = False,
    callbacks: Callbacks = NO_CALLBACKS,
) -> Progress:
    """Ask each fact once and store the answers in a folder; facts with an answer there are skipped.

    Memory: one batch, or two with ``ahead``, the keys, and the places of unanswered facts.

    Args:
        keys: distinct facts, in the same order at each call.
        config: settings on which the answers depend; stored with them.
        batch: number of facts that are asked together. Does not affect the answers.
        ahead: True to draw the next batch while the device computes, see :mod:`.ahead`. Does not affect the answers.
    """
    with _claimed(folder, config) as store:
        done, silent = store.progress()
        if done > len(keys):
            raise KgprobeError(f"{store.path} holds {done:,} answers where there are {len(keys):,} facts; delete it.")
        unanswered = set(silent)
        answered = done - len(silent)
        callbacks.on_start(Start(len(keys), answered, len(keys)))
        stopped, reason = Stop.DONE, None
        unasked = range(done, len(keys))

        def ask(places: Sequence[int]) -> list[Outcome]:
            with callbacks.hearing(len(places)):
                return probe.ask(list(map(keys.__getitem__, places)), [seed])

        batches, ahead_of_them = (itertools.chain(_batches(unasked, batch), _batches(silent, batch)) for _ in range(2))
        asks = (partial(ask, places) for places in ahead_of_them)
        with closing(ask_ahead(partial(next, asks, None), ahead=ahead)) as answers:
            for places in batches:
                try:
                    outcomes = next(answers)
                except BudgetSpentError as error:
                    stopped, reason = Stop.BUDGET_SPENT, str(error)
                    break
                store.append(places, outcomes)
                done = max(done, places[-1] + 1)
                for place, outcome in zip(places, outcomes, strict=True):
                    if outcome.verdict is Verdict.UNANSWERED:
                        unanswered.add(place)
                    else:
                        unanswered.discard(place)
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
        return Progress(len(keys), done, len(unanswered), stopped, reason)


@contextmanager
def _claimed(folder: Path, config: Mapping[str, Any]) -> Iterator[OutcomeStore]:
    """Open the answers of a folder with these settings, for one process at a time."""
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            claim(folder, config, MEASUREMENT)
            with OutcomeStore(folder) as store:
                yield store
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process uses {folder}.") from error


def _batches(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (places[start : start + size] for start in range(0, len(places), size))
