"""The distractor measure of a list of facts, kept: a measurement with a table of every plausibility."""

from pathlib import Path
from typing import Any

from kgprobe.analysis.curves import Measured, measured
from kgprobe.asking.measurement import OUTCOMES, Measurement, Progress, measure
from kgprobe.probes.outcome import Probe, read_outcomes
from kgprobe.report.plausibilities import write_plausibilities
from kgprobe.sampling.facts import Keys

TABLE = "plausibilities.parquet"


def measure_distractors(
    probe: Probe,
    keys: Keys,
    seed: int,
    *,
    batch: int = 32,
    name: str | None = None,
    origin: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Measurement:
    """Ask each fact once; when all are asked, ``plausibilities.parquet`` has every plausibility in a row of its own.

    Args:
        probe: of distractors.
        keys, seed, batch, name, origin, progress: see :func:`~kgprobe.asking.measurement.measure`.

    Raises:
        KgprobeError: the folder belongs to another measurement, is in use, or cannot be written.
    """
    way = probe.describe()["strategy"]["strategy"]
    return measure(
        probe, keys, seed, way=way, batch=batch, name=name, origin=origin, progress=progress, finish=_write_table
    )


def measured_in(measurement: Measurement) -> Measured:
    """The distractor measure of the facts that were asked, at every n."""
    return measured(measurement.outcomes(), measurement.config["probe"]["distractors"])


def _write_table(folder: Path) -> None:
    if not (folder / TABLE).exists():
        write_plausibilities(read_outcomes(folder / OUTCOMES), folder / TABLE)
