"""Report of a benchmark: rows of measurements, as a table or one JSON object."""

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import psutil
from rich.console import Console
from rich.table import Table

from kgprobe.base.files import replacing

_COLUMNS = ("case", "measure", "value", "unit", "peer", "its value", "ratio", "max. difference")
_NUMBERS = {"value", "its value", "ratio"}


@dataclass(frozen=True, slots=True)
class Row:
    """Measurement, optionally with the same measurement of a peer.

    Attributes:
        case: measured input, size or strategy.
        measure: ``rate``, ``time``, ``memory``, …
        unit: unit of ``value`` and ``peer_value``.
        peer: name of the peer; None without comparison.
        less_is_better: True for times and sizes; decides the direction of ``ratio``.
        max_difference: greatest absolute difference between our results and the peer's, if both compute the same.
    """

    case: str
    measure: str
    value: float
    unit: str
    peer: str | None = None
    peer_value: float | None = None
    less_is_better: bool = False
    max_difference: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ratio to the peer, above 1 if we are better; None without a peer or for a zero."""
        if self.peer_value is None:
            return None
        better, worse = (self.peer_value, self.value) if self.less_is_better else (self.value, self.peer_value)
        return better / worse if worse else None


@dataclass(frozen=True, slots=True)
class Report:
    """Result of one run of a benchmark.

    Attributes:
        benchmark: its name, as in ``python -m benchmarks.NAME``.
        rows: the measurements, in order.
        seed: seed of its random choices.
        versions: versions of the relevant libraries; see :func:`versions_of`.
        machine: the machine; see :func:`describe_machine`.
    """

    benchmark: str
    rows: Sequence[Row]
    seed: int
    versions: Mapping[str, str]
    machine: Mapping[str, str | int | float] = field(default_factory=lambda: describe_machine())


def versions_of(*distributions: str) -> dict[str, str]:
    """Return the versions of Python, kgprobe and other installed distributions, by name.

    Raises:
        importlib.metadata.PackageNotFoundError: one of them is not installed.
    """
    return {"python": platform.python_version(), **{name: version(name) for name in ("kgprobe", *distributions)}}


def describe_machine() -> dict[str, str | int | float]:
    """Return the processor's name, usable cores and memory in GiB, without the machine's name."""
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "processor": _processor(),
        "cores": len(affinity(0)) if affinity else os.cpu_count() or 1,
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
    }


def show(report: Report, *, as_json: bool) -> None:
    """Print a report to stdout: one JSON object on one line, or a table."""
    if as_json:
        print(json.dumps(to_json(report), ensure_ascii=False, allow_nan=False))
        return
    columns, cells = _cells(report.rows)
    table = Table(title=_title(report))
    for column in columns:
        table.add_column(column, justify="right" if column in _NUMBERS else "left")
    for row in cells:
        table.add_row(*row)
    # A pipe has no width: do not fold.
    console = (
        Console(highlight=False, markup=False) if os.isatty(1) else Console(width=160, highlight=False, markup=False)
    )
    console.print(table)
    console.print(_conditions(report))


def write_table(report: Report, path: Path) -> None:
    """Write a report as a Markdown table with its title and machine; the file appears whole."""
    columns, cells = _cells(report.rows)
    marks = ["--:" if column in _NUMBERS else "---" for column in columns]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in (columns, marks, *cells)]
    with replacing(path) as unfinished:
        unfinished.write_text(
            "\n\n".join([_title(report), "\n".join(lines), _conditions(report)]) + "\n", encoding="utf-8"
        )


def _cells(rows: Sequence[Row]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """Return the columns of a table and the text of its cells; without columns of peers if no row has one."""
    used = 4 if all(row.peer is None for row in rows) else len(_COLUMNS)
    cells: list[Sequence[str]] = []
    for row in rows:
        numbers = (_number(row.peer_value), _number(row.ratio), _number(row.max_difference))
        cells.append((row.case, row.measure, _number(row.value), row.unit, row.peer or "", *numbers)[:used])
    return _COLUMNS[:used], cells


def _title(report: Report) -> str:
    return f"{report.benchmark}, seed {report.seed}"


def _conditions(report: Report) -> str:
    return ", ".join(f"{key} {value}" for key, value in {**report.machine, **report.versions}.items())


def to_json(report: Report) -> dict[str, object]:
    """Return the report as plain values; a row without a peer lacks the peer's keys."""
    rows = []
    for row in report.rows:
        plain = {key: value for key, value in asdict(row).items() if key != "less_is_better"}
        plain["ratio"] = row.ratio
        rows.append({key: _finite(value) for key, value in plain.items() if value is not None})
    return {
        "benchmark": report.benchmark,
        "machine": dict(report.machine),
        "versions": dict(report.versions),
        "seed": report.seed,
        "rows": rows,
    }


def _finite(value: object) -> object:
    # JSON has neither infinity nor NaN.
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
