"""From facts to their measure: a probe over a list of facts, kept on disk as it goes, and gone on with where it stood.

A measurement has a folder: ``config.json`` says what was measured and with what, ``outcomes.jsonl`` has one answer a
line in the order of the facts, and when all are there ``plausibilities.parquet`` has every plausibility in a row of
its own. The folder's name comes from the configuration, so the same command goes on with the same measurement.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
import msgspec

from kgprobe.analysis.curves import Measured, measured
from kgprobe.errors import KgprobeError
from kgprobe.paths import home, make_folder
from kgprobe.probes.outcome import Outcome, Probe, read_outcomes
from kgprobe.report.plausibilities import write_plausibilities
from kgprobe.sampling.facts import Keys

CONFIG = "config.json"
OUTCOMES = "outcomes.jsonl"
TABLE = "plausibilities.parquet"


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
        done: how many of them are measured.
        config: what it was made with.
    """

    folder: Path
    facts: int
    done: int
    config: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether every fact is measured."""
        return self.done == self.facts

    def outcomes(self) -> Iterator[dict[str, Any]]:
        """The answers, one dictionary a fact, in their order."""
        return read_outcomes(self.folder / OUTCOMES)

    def measured(self) -> Measured:
        """The distractor measure of the facts that are done, at every n."""
        return measured(self.outcomes(), self.config["probe"]["distractors"])


def measure(
    probe: Probe,
    keys: Keys,
    seed: int,
    *,
    batch: int = 32,
    name: str | None = None,
    origin: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Ask each fact once and keep the answers; what a call with the same configuration asked before stays as it is.

    Cost: a batch at a time; memory for one batch and the keys.

    Args:
        keys: the facts, each once.
        seed: what all random choices follow from.
        batch: how many facts are asked together; has no say in the answers.
        name: of the folder; None makes one from the configuration.
        origin: what else the answers depend on, such as the graph and its state; kept with them.
        progress: told, and asked, as it goes.

    Raises:
        KgprobeError: the folder belongs to another measurement, is in use, or cannot be written.
    """
    watch = progress or Progress()
    config = {"probe": probe.describe(), "method": probe.name, "seed": seed, **(origin or {}), "facts": _digest(keys)}
    encoded = msgspec.json.encode(config, order="sorted")
    folder = home() / "probes" / (name or _name(probe, encoded))
    make_folder(folder)
    try:
        with filelock.FileLock(folder / "lock", timeout=0):
            _claim(folder, encoded)
            done = _ask(folder, probe, keys, seed, batch, watch)
            if done == len(keys) and not (folder / TABLE).exists():
                write_plausibilities(read_outcomes(folder / OUTCOMES), folder / TABLE)
    except filelock.Timeout as error:
        raise KgprobeError(f"Another process is at {folder} already.") from error
    return Measurement(folder, len(keys), done, msgspec.json.decode(encoded))


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


def _ask(folder: Path, probe: Probe, keys: Keys, seed: int, batch: int, watch: Progress) -> int:
    path = folder / OUTCOMES
    try:
        file = open(path, "ab+")  # noqa: SIM115 - closed by the with below
    except OSError as error:
        raise KgprobeError(f"{path} cannot be written: {error.strerror}.") from error
    with file:
        done = _complete_lines(file)
        if done > len(keys):
            raise KgprobeError(f"{path} holds {done:,} answers where there are {len(keys):,} facts; delete the folder.")
        watch.on_start(len(keys), done)
        while done < len(keys) and not (done and watch.should_stop()):
            asked = [keys[position] for position in range(done, min(done + batch, len(keys)))]
            outcomes = probe.ask(asked, [seed])
            file.write(b"".join(msgspec.json.encode(outcome.as_row()) + b"\n" for outcome in outcomes))
            file.flush()
            os.fsync(file.fileno())
            done += len(asked)
            watch.on_batch(outcomes)
    return done


def _complete_lines(file: Any) -> int:
    """How many whole lines a file has; what a killed process left of another is cut off."""
    file.seek(0)
    lines = end = 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        lines, end = lines + 1, end + len(line)
    file.truncate(end)
    return lines


def _digest(keys: Keys) -> dict[str, Any]:
    digest = hashlib.sha256()
    for position in range(len(keys)):
        subject, fact = keys[position]
        digest.update(f"{subject}\0{fact}\n".encode())
    return {"count": len(keys), "sha256": digest.hexdigest()}


def _name(probe: Probe, encoded: bytes) -> str:
    described = probe.describe()
    named = f"{described['model'].removeprefix('hf:')}-{described['strategy']['strategy']}-{probe.name}"
    slug = re.sub(r"[^A-Za-z0-9]+", "-", named).strip("-").lower()
    return f"{slug[-60:]}-{hashlib.sha256(encoded).hexdigest()[:10]}"
