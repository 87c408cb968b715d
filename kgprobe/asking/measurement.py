"""From facts to outcomes: a probe over a list of facts, kept on disk as it goes, and gone on with where it stood.

A measurement has a folder: ``config.json`` says what was measured and with what, ``outcomes.jsonl`` has one answer a
line in the order of the facts. The folder's name comes from the configuration, so the same command goes on with the
same measurement. A question to which no answer came is put again then, after all that were never put.
"""

import hashlib
import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import filelock
import msgspec

from kgprobe.errors import KgprobeError
from kgprobe.files import home, make_folder
from kgprobe.models.api.spending import BudgetSpentError
from kgprobe.probes.outcome import Outcome, Probe, Verdict, decode_outcome, read_outcomes
from kgprobe.sampling.facts import Keys

CONFIG = "config.json"
OUTCOMES = "outcomes.jsonl"

# Of questions that are put again, until the file is written anew; some megabytes.
_HELD = 2_000


@dataclass(frozen=True, slots=True)
class Progress:
    """Who is told how a measurement gets on, and may end it.

    Attributes:
        on_start: called with the number of facts and that of those measured before.
        on_batch: called with the outcomes of each batch.
        should_stop: asked after each batch.
    """

    on_start: Callable[[int, int], None] = lambda facts, done: None
    on_batch: Callable[[Sequence[Outcome]], None] = lambda outcomes: None
    should_stop: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement on disk.

    Attributes:
        facts: how many it is of.
        done: how many of them were asked.
        unanswered: to how many of these no answer came.
        config: what it was made with.
        stopped: why it ended: ``done``, ``asked to``, ``budget spent``, or ``no answers``: a whole batch got none.
    """

    folder: Path
    facts: int
    done: int
    unanswered: int
    config: dict[str, Any]
    stopped: str

    @property
    def complete(self) -> bool:
        """Whether every fact was asked."""
        return self.done == self.facts

    def outcomes(self) -> Iterator[dict[str, Any]]:
        """The answers, one dictionary a fact, in their order."""
        return read_outcomes(self.folder / OUTCOMES)


def measure(
    probe: Probe,
    keys: Keys,
    seed: int,
    *,
    way: str,
    batch: int = 32,
    name: str | None = None,
    origin: dict[str, Any] | None = None,
    progress: Progress | None = None,
    finish: Callable[[Path], None] = lambda folder: None,
) -> Measurement:
    """Ask each fact once and keep the answers; what a call with the same configuration asked before stays as it is.

    Cost: a batch at a time; memory for one batch and the keys.

    Args:
        keys: the facts, each once.
        seed: what all random choices follow from.
        way: how the probe asks, in a word; a part of the folder's name.
        batch: how many facts are asked together; has no say in the answers.
        name: of the folder; None makes one from the configuration.
        origin: what else the answers depend on, such as the graph and its state; kept with them.
        progress: told, and asked, as it goes.
        finish: called with the folder when every fact was asked, while nobody else can be at it.

    Raises:
        KgprobeError: the folder belongs to another measurement, is in use, or cannot be written.
    """
    watch = progress or Progress()
    config = {"probe": probe.describe(), "method": probe.name, "seed": seed, **(origin or {}), "facts": _digest(keys)}
    encoded = msgspec.json.encode(config, order="sorted")
    folder = home() / "probes" / (name or _name(probe, way, encoded))
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            _claim(folder, encoded)
            done, unanswered, stopped = _ask(folder / OUTCOMES, probe, keys, seed, batch, watch)
            if done == len(keys):
                finish(folder)
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process is at {folder} already.") from error
    return Measurement(folder, len(keys), done, unanswered, msgspec.json.decode(encoded), stopped)


def _claim(folder: Path, encoded: bytes) -> None:
    path = folder / CONFIG
    if path.exists():
        kept = path.read_bytes()
        if kept != encoded:
            theirs, ours = msgspec.json.decode(kept), msgspec.json.decode(encoded)
            differing = ", ".join(_differences(theirs, ours))
            raise KgprobeError(
                f"{folder} holds a measurement made with other settings ({differing}). Choose another name, or delete "
                "the folder."
            )
        return
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(encoded)
    os.replace(unfinished, path)


def _differences(theirs: Any, ours: Any, place: str = "") -> Iterator[str]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            if theirs.get(key) != ours.get(key):
                yield from _differences(theirs.get(key), ours.get(key), f"{place}.{key}" if place else key)
    else:
        yield place


class _StoppedError(Exception):
    """No further batch is asked; says why."""


def _ask(path: Path, probe: Probe, keys: Keys, seed: int, batch: int, watch: Progress) -> tuple[int, int, str]:
    """How many facts were asked in all, how many of them got no answer, and why it ended."""
    try:
        file = open(path, "ab+")  # noqa: SIM115 - closed by the with below
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    with file:
        done, unanswered = _kept(file, path)
        if done > len(keys):
            raise KgprobeError(f"{path} holds {done:,} answers where there are {len(keys):,} facts; delete the folder.")
        watch.on_start(len(keys), done - len(unanswered))
        batches = itertools.chain(_batches(range(done, len(keys)), batch), _batches(unanswered, batch))
        silent = set(unanswered)
        held: dict[int, bytes] = {}
        stopped = "done"
        try:
            for places, outcomes in _asked(probe, keys, batches, seed, watch):
                lines = [msgspec.json.encode(outcome.as_row()) + b"\n" for outcome in outcomes]
                if places[0] == done:
                    file.write(b"".join(lines))
                    file.flush()
                    os.fsync(file.fileno())
                    done += len(places)
                else:
                    held |= zip(places, lines, strict=True)
                silent.difference_update(places)
                silent.update(p for p, its in zip(places, outcomes, strict=True) if its.verdict is Verdict.UNANSWERED)
                if len(held) >= _HELD:
                    _replace(path, held)
                    held.clear()
        except _StoppedError as stop:
            stopped = str(stop)
        finally:
            # Lost where the process is killed; but what an API answered is kept elsewhere, too.
            if held:
                _replace(path, held)
    return done, len(silent), stopped


def _batches(places: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (places[start : start + size] for start in range(0, len(places), size))


def _asked(
    probe: Probe, keys: Keys, batches: Iterator[Sequence[int]], seed: int, watch: Progress
) -> Iterator[tuple[Sequence[int], Sequence[Outcome]]]:
    """Batches of places with their outcomes."""
    before: Sequence[Outcome] = ()
    for places in batches:
        if before and all(outcome.verdict is Verdict.UNANSWERED for outcome in before):
            raise _StoppedError("no answers")
        if before and watch.should_stop():
            raise _StoppedError("asked to")
        try:
            before = probe.ask([keys[place] for place in places], [seed])
        except BudgetSpentError as error:
            raise _StoppedError("budget spent") from error
        yield places, before
        watch.on_batch(before)


def _kept(file: BinaryIO, path: Path) -> tuple[int, list[int]]:
    """How many whole lines a file has, and the places of those without an answer.

    What a killed process left of another line is cut off.
    """
    file.seek(0)
    lines = end = 0
    unanswered = []
    for line in file:
        if not line.endswith(b"\n"):
            break
        lines, end = lines + 1, end + len(line)
        word = Verdict.UNANSWERED.value
        if word.encode() in line and decode_outcome(line, path, lines)["verdict"] == word:
            unanswered.append(lines - 1)
    file.truncate(end)
    return lines, unanswered


def _replace(path: Path, lines: Mapping[int, bytes]) -> None:
    """Put these lines in the place of others."""
    unfinished = path.with_suffix(".part")
    try:
        with open(path, "rb") as old, open(unfinished, "wb") as new:
            new.writelines(lines.get(place, line) for place, line in enumerate(old))
            new.flush()
            os.fsync(new.fileno())
        os.replace(unfinished, path)
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error


def _digest(keys: Keys) -> dict[str, Any]:
    digest = hashlib.sha256()
    for position in range(len(keys)):
        subject, fact = keys[position]
        digest.update(f"{subject}\0{fact}\n".encode())
    return {"count": len(keys), "sha256": digest.hexdigest()}


def _name(probe: Probe, way: str, encoded: bytes) -> str:
    named = f"{probe.describe()['model'].removeprefix('hf:')}-{way}-{probe.name}"
    slug = re.sub(r"[^A-Za-z0-9]+", "-", named).strip("-").lower()
    return f"{slug[-60:]}-{hashlib.sha256(encoded).hexdigest()[:10]}"
